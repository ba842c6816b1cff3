// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_input.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/sources-inl.h"
#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// `corner` is the offset of the first input, at (row, column), which may lie
// outside.
template <class Lines, bool kInside, class Load>
HWY_INLINE void transform_tile(const Load& input, const Planes& planes,
                               int64_t row, int64_t column, int64_t corner,
                               float* to, int64_t stride) {
  using Down = typename Lines::Down;
  using Across = typename Lines::Across;
  Vec half[Down::kValues][Across::kReads];
  for (int64_t j = 0; j < Across::kReads; ++j) {
    Vec in[Down::kReads], out[Down::kValues];
    const bool in_columns = column + j >= 0 && column + j < planes.width;
    SOTTA_UNROLL
    for (int64_t i = 0; i < Down::kReads; ++i) {
      const bool inside = in_columns && row + i >= 0 && row + i < planes.height;
      in[i] = kInside || inside
                  ? input(corner + (i * planes.width + j) * kBlock)
                  : zero();
    }
    Down::inputs(in, out);
    SOTTA_UNROLL
    for (int64_t i = 0; i < Down::kValues; ++i)
      half[i][j] = out[i];
  }
  for (int64_t i = 0; i < Down::kValues; ++i) {
    Vec out[Across::kValues];
    Across::inputs(half[i], out);
    SOTTA_UNROLL
    for (int64_t j = 0; j < Across::kValues; ++j)
      store(out[j], to + (Across::kValues * i + j) * stride);
  }
}

template <class Lines, class Input>
HWY_INLINE void transform_block(Input input, const Planes& planes, Range tiles,
                                int64_t channel, float* transformed) {
  const int64_t stride = position_stride(tiles.size(), planes.channels);
  input.begin(channel);
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const TilePlace place(planes, step_in(Lines::kTiling), t);
    const int64_t row = place.row - Lines::Down::kLead;
    const int64_t column = place.column - Lines::Across::kLead;
    const int64_t corner =
        place.image * planes.image() + channel / kBlock * planes.plane() +
        channel % kBlock + (row * planes.width + column) * kBlock;
    float* to = transformed + (t - tiles.begin) * planes.channels + channel;
    if (row >= 0 && row + Lines::Down::kReads <= planes.height && column >= 0 &&
        column + Lines::Across::kReads <= planes.width)
      transform_tile<Lines, true>(input, planes, row, column, corner, to,
                                  stride);
    else
      transform_tile<Lines, false>(input, planes, row, column, corner, to,
                                   stride);
  }
}

void input(Tiling tiling, const Source& source, const Planes& planes,
           Range tiles, Range blocks, float* transformed) {
  with_lines(tiling, [&](auto lines) HWY_ATTR {
    with_source(source, [&](auto functor) HWY_ATTR {
      for (int64_t c = blocks.begin * kBlock; c < blocks.end * kBlock;
           c += kLanes)
        transform_block<decltype(lines)>(functor, planes, tiles, c,
                                         transformed);
    });
  });
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(input);

void winograd_input(Tiling tiling, const Source& source, const Planes& planes,
                    Range tiles, Range blocks, float* transformed) {
  HWY_DYNAMIC_DISPATCH(input)
  (tiling, source, planes, tiles, blocks, transformed);
}

}  // namespace sotta::engine
#endif
