// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_input.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/prologues-inl.h"
#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// B^T d B of one tile, first down the columns of d, then along the rows of the
// result. `corner` is the offset of the tile's first input, at (row, column),
// which may lie outside the image unless kInside; `stride` is that of
// positions.
template <class Transform, bool kInside, class Load, class Number>
HWY_INLINE void transform_tile(const Load& input, const ActivationShape& shape,
                               int64_t row, int64_t column, int64_t corner,
                               Number* to, int64_t stride) {
  using Vertical = typename Transform::Vertical;
  using Horizontal = typename Transform::Horizontal;
  Vec half[Vertical::kPositions][Horizontal::kInputs];
  for (int64_t j = 0; j < Horizontal::kInputs; ++j) {
    Vec in[Vertical::kInputs], out[Vertical::kPositions];
    const bool in_columns = column + j >= 0 && column + j < shape.width;
    SOTTA_UNROLL
    for (int64_t i = 0; i < Vertical::kInputs; ++i) {
      const bool inside = in_columns && row + i >= 0 && row + i < shape.height;
      in[i] = kInside || inside
                  ? input(corner + (i * shape.width + j) * kChannelBlock)
                  : zero();
    }
    Vertical::input_transform(in, out);
    SOTTA_UNROLL
    for (int64_t i = 0; i < Vertical::kPositions; ++i)
      half[i][j] = out[i];
  }
  for (int64_t i = 0; i < Vertical::kPositions; ++i) {
    Vec out[Horizontal::kPositions];
    Horizontal::input_transform(half[i], out);
    SOTTA_UNROLL
    for (int64_t j = 0; j < Horizontal::kPositions; ++j)
      store(out[j], to + (Horizontal::kPositions * i + j) * stride);
  }
}

// All tiles of one vector of channels.
template <class Transform, class Input, class Number>
HWY_INLINE void transform_block(Input input, const ActivationShape& shape,
                                Range tiles, int64_t channel,
                                Number* transformed) {
  const int64_t stride = position_stride<Number>(tiles.size(), shape.channels);
  input.begin(channel);
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const TileOrigin origin(shape, input_step(Transform::kTiling), t);
    const int64_t row = origin.row - Transform::Vertical::kPadding;
    const int64_t column = origin.column - Transform::Horizontal::kPadding;
    const int64_t corner = origin.image * shape.image_size() +
                           channel / kChannelBlock * shape.plane_size() +
                           channel % kChannelBlock +
                           (row * shape.width + column) * kChannelBlock;
    Number* to = transformed + (t - tiles.begin) * shape.channels + channel;
    if (row >= 0 && row + Transform::Vertical::kInputs <= shape.height &&
        column >= 0 && column + Transform::Horizontal::kInputs <= shape.width)
      transform_tile<Transform, true>(input, shape, row, column, corner, to,
                                      stride);
    else
      transform_tile<Transform, false>(input, shape, row, column, corner, to,
                                       stride);
  }
}

template <class Number>
HWY_INLINE void transform(Tiling tiling, const Prologue& prologue,
                          const ActivationShape& shape, Range tiles,
                          Range blocks, Number* transformed) {
  with_transform(tiling, [&](auto of_tile) HWY_ATTR {
    with_prologue(prologue, [&](auto functor) HWY_ATTR {
      for (int64_t c = blocks.begin * kChannelBlock;
           c < blocks.end * kChannelBlock; c += kLanes)
        transform_block<decltype(of_tile)>(functor, shape, tiles, c,
                                           transformed);
    });
  });
}

void input(Tiling tiling, const Prologue& prologue,
           const ActivationShape& shape, Range tiles, Range blocks,
           float* transformed) {
  transform(tiling, prologue, shape, tiles, blocks, transformed);
}

void input_bfloat16(Tiling tiling, const Prologue& prologue,
                    const ActivationShape& shape, Range tiles, Range blocks,
                    Bfloat16* transformed) {
  transform(tiling, prologue, shape, tiles, blocks, transformed);
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(input);
HWY_EXPORT(input_bfloat16);

void winograd_input(Tiling tiling, const Prologue& prologue,
                    const ActivationShape& shape, Range tiles, Range blocks,
                    float* transformed) {
  HWY_DYNAMIC_DISPATCH(input)
  (tiling, prologue, shape, tiles, blocks, transformed);
}

void winograd_input(Tiling tiling, const Prologue& prologue,
                    const ActivationShape& shape, Range tiles, Range blocks,
                    Bfloat16* transformed) {
  HWY_DYNAMIC_DISPATCH(input_bfloat16)
  (tiling, prologue, shape, tiles, blocks, transformed);
}

}  // namespace sotta::engine
#endif
