// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_output.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include <hwy/cache_control.h>

#include "engine/cpu/sinks-inl.h"
#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Hands the outputs of one tile to `sink`, those outside the image excepted.
template <class Lines, class Output>
HWY_INLINE void untransform_tile(Output& sink, const Planes& planes,
                                 const TilePlace& place, int64_t corner,
                                 const float* from, int64_t stride) {
  using Down = typename Lines::Down;
  using Across = typename Lines::Across;
  Vec half[Down::kWrites][Across::kValues];
  for (int64_t j = 0; j < Across::kValues; ++j) {
    Vec in[Down::kValues], out[Down::kWrites];
    SOTTA_UNROLL
    for (int64_t i = 0; i < Down::kValues; ++i)
      in[i] = load(from + (Across::kValues * i + j) * stride);
    Down::outputs(in, out);
    SOTTA_UNROLL
    for (int64_t i = 0; i < Down::kWrites; ++i)
      half[i][j] = out[i];
  }
  constexpr int64_t kRows = Down::kWrites, kColumns = Across::kWrites;
  const int64_t rows = HWY_MIN(kRows, planes.height - place.row);
  const int64_t columns = HWY_MIN(kColumns, planes.width - place.column);
  for (int64_t i = 0; i < rows; ++i) {
    Vec out[kColumns];
    Across::outputs(half[i], out);
    const int64_t offset = corner + i * planes.width * kBlock;
    if (columns == kColumns) {
      SOTTA_UNROLL
      for (int64_t j = 0; j < kColumns; ++j)
        sink(offset + j * kBlock, out[j]);
    } else {
      for (int64_t j = 0; j < columns; ++j)
        sink(offset + j * kBlock, out[j]);
    }
  }
}

template <class Lines, class Output>
HWY_INLINE void untransform_block(Output sink, const Planes& planes,
                                  Range tiles, Range group, int64_t channel,
                                  const float* products) {
  constexpr int64_t kTiles =
      kOutputsPerSum / (Lines::Down::kWrites * Lines::Across::kWrites);
  const int64_t stride = position_stride(tiles.size(), group.size());
  const float* from = products +
                      (channel - group.begin) / kBlock * tiles.size() * kBlock +
                      channel % kBlock;
  for (int64_t first = tiles.begin; first < tiles.end; first += kTiles) {
    sink.begin(channel);
    const int64_t last = HWY_MIN(first + kTiles, tiles.end);
    for (int64_t t = first; t < last; ++t) {
      const TilePlace place(planes, step_out(Lines::kTiling), t);
      const int64_t corner =
          place.image * planes.image() + channel / kBlock * planes.plane() +
          channel % kBlock + (place.row * planes.width + place.column) * kBlock;
      untransform_tile<Lines>(sink, planes, place, corner,
                              from + (t - tiles.begin) * kBlock, stride);
    }
    sink.end(channel);
  }
}

void output(Tiling tiling, const Sink& sink, const Planes& planes, Range tiles,
            Range group, const float* products) {
  with_lines(tiling, [&](auto lines) HWY_ATTR {
    with_sink(sink, [&](auto functor) HWY_ATTR {
      for (int64_t c = group.begin; c < group.end; c += kLanes)
        untransform_block<decltype(lines)>(functor, planes, tiles, group, c,
                                           products);
    });
  });
  hwy::FlushStream();
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(output);

void winograd_output(Tiling tiling, const Sink& sink, const Planes& planes,
                     Range tiles, Range group, const float* products) {
  HWY_DYNAMIC_DISPATCH(output)
  (tiling, sink, planes, tiles, group, products);
}

}  // namespace sotta::engine
#endif
