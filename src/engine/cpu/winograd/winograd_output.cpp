// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_output.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include <hwy/cache_control.h>

#include "engine/cpu/epilogues-inl.h"
#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// A^T m A of one tile m, first down the columns, then along the rows. Applies
// the epilogue to the outputs that lie in the image; `corner` is the offset of
// the first.
template <class Transform, class Output>
HWY_INLINE void transform_output_tile(Output& epilogue,
                                      const ActivationShape& shape,
                                      const TileOrigin& origin, int64_t corner,
                                      const float* from, int64_t stride) {
  using Vertical = typename Transform::Vertical;
  using Horizontal = typename Transform::Horizontal;
  Vec half[Vertical::kOutputs][Horizontal::kPositions];
  for (int64_t j = 0; j < Horizontal::kPositions; ++j) {
    Vec in[Vertical::kPositions], out[Vertical::kOutputs];
    SOTTA_UNROLL
    for (int64_t i = 0; i < Vertical::kPositions; ++i)
      in[i] = load(from + (Horizontal::kPositions * i + j) * stride);
    Vertical::output_transform(in, out);
    SOTTA_UNROLL
    for (int64_t i = 0; i < Vertical::kOutputs; ++i)
      half[i][j] = out[i];
  }
  // A tile at the right or lower edge may reach beyond the image.
  constexpr int64_t kRows = Vertical::kOutputs, kColumns = Horizontal::kOutputs;
  const int64_t rows = HWY_MIN(kRows, shape.height - origin.row);
  const int64_t columns = HWY_MIN(kColumns, shape.width - origin.column);
  for (int64_t i = 0; i < rows; ++i) {
    Vec out[kColumns];
    Horizontal::output_transform(half[i], out);
    const int64_t offset = corner + i * shape.width * kChannelBlock;
    if (columns == kColumns) {
      SOTTA_UNROLL
      for (int64_t j = 0; j < kColumns; ++j)
        epilogue(offset + j * kChannelBlock, out[j]);
    } else {
      for (int64_t j = 0; j < columns; ++j)
        epilogue(offset + j * kChannelBlock, out[j]);
    }
  }
}

// All tiles of one vector of channels, in groups of tiles whose sums fit in
// float (kOutputsPerSum).
template <class Transform, class Output>
HWY_INLINE void transform_output_block(Output epilogue,
                                       const ActivationShape& shape,
                                       Range tiles, Range panel,
                                       int64_t channel, const float* products) {
  constexpr int64_t kTiles = kOutputsPerSum / (Transform::Vertical::kOutputs *
                                               Transform::Horizontal::kOutputs);
  const int64_t stride = position_stride(tiles.size(), panel.size());
  const float* from =
      products +
      (channel - panel.begin) / kChannelBlock * tiles.size() * kChannelBlock +
      channel % kChannelBlock;
  const int64_t per_lane =
      epilogue.args.images_per_lane *
      tiles_per_image(shape, output_step(Transform::kTiling));
  for (int64_t first = tiles.begin, last = first; first < tiles.end;
       first = last) {
    last = HWY_MIN(first + kTiles, tiles.end);
    int64_t vectors = 0;
    if (per_lane > 0) {
      const int64_t lane = first / per_lane;
      last = HWY_MIN(last, (lane + 1) * per_lane);
      vectors = lane * shape.channels;
    }
    epilogue.begin(vectors + channel);
    for (int64_t t = first; t < last; ++t) {
      const TileOrigin origin(shape, output_step(Transform::kTiling), t);
      const int64_t corner =
          origin.image * shape.image_size() +
          channel / kChannelBlock * shape.plane_size() +
          channel % kChannelBlock +
          (origin.row * shape.width + origin.column) * kChannelBlock;
      transform_output_tile<Transform>(epilogue, shape, origin, corner,
                                       from + (t - tiles.begin) * kChannelBlock,
                                       stride);
    }
    epilogue.end(channel);
  }
}

void output(Tiling tiling, const Epilogue& epilogue,
            const ActivationShape& shape, Range tiles, Range panel,
            const float* products) {
  with_transform(tiling, [&](auto transform) HWY_ATTR {
    with_epilogue(epilogue, [&](auto functor) HWY_ATTR {
      for (int64_t c = panel.begin; c < panel.end; c += kLanes)
        transform_output_block<decltype(transform)>(functor, shape, tiles,
                                                    panel, c, products);
    });
  });
  hwy::FlushStream();
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(output);

void winograd_output(Tiling tiling, const Epilogue& epilogue,
                     const ActivationShape& shape, Range tiles, Range panel,
                     const float* products) {
  HWY_DYNAMIC_DISPATCH(output)
  (tiling, epilogue, shape, tiles, panel, products);
}

}  // namespace sotta::engine
#endif
