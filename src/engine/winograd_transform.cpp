// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/winograd_transform.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/sinks-inl.h"
#include "engine/sources-inl.h"
#include "engine/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

constexpr float kNear = 0.625F, kFar = 1.5F;  // the points, and their negatives
constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;

// Sums are kept in float for at most so many tiles.
constexpr int64_t kTilesPerSum = 32;

// Six inputs along a line to six values.
HWY_INLINE void transform_inputs(const Vec* in, Vec* out) {
  const Vec near = all(kNear), far = all(kFar);
  const Vec near2 = all(kNear2), far2 = all(kFar2);
  const Vec both = all(kNear2 * kFar2), sum = all(kNear2 + kFar2);
  const Vec even_near = hn::NegMulAdd(far2, in[2], in[4]);
  const Vec odd_near = hn::NegMulAdd(far2, in[1], in[3]);
  const Vec even_far = hn::NegMulAdd(near2, in[2], in[4]);
  const Vec odd_far = hn::NegMulAdd(near2, in[1], in[3]);
  out[0] = hn::MulAdd(both, in[0], hn::NegMulAdd(sum, in[2], in[4]));
  out[1] = hn::MulAdd(near, odd_near, even_near);
  out[2] = hn::NegMulAdd(near, odd_near, even_near);
  out[3] = hn::MulAdd(far, odd_far, even_far);
  out[4] = hn::NegMulAdd(far, odd_far, even_far);
  out[5] = hn::MulAdd(both, in[1], hn::NegMulAdd(sum, in[3], in[5]));
}

// Six products along a line to four outputs.
HWY_INLINE void transform_outputs(const Vec* in, Vec* out) {
  const Vec near_sum = hn::Add(in[1], in[2]), near_gap = hn::Sub(in[1], in[2]);
  const Vec far_sum = hn::Add(in[3], in[4]), far_gap = hn::Sub(in[3], in[4]);
  out[0] = hn::Add(in[0], hn::Add(near_sum, far_sum));
  out[1] = hn::MulAdd(all(kNear), near_gap, hn::Mul(all(kFar), far_gap));
  out[2] = hn::MulAdd(all(kNear2), near_sum, hn::Mul(all(kFar2), far_sum));
  out[3] = hn::MulAdd(all(kNear2 * kNear), near_gap,
                      hn::MulAdd(all(kFar2 * kFar), far_gap, in[5]));
}

// A tile's place among the planes.
struct TilePlace {
  TilePlace(const Planes& planes, int64_t tile) {
    const int64_t columns = tiles_along(planes.width);
    const int64_t per_image = tiles_of_image(planes.height, planes.width);
    image = tile / per_image;
    row = tile % per_image / columns * kTile;
    column = tile % columns * kTile;
  }

  int64_t image, row, column;  // of the first output
};

// `corner` is the offset of the first of the 6x6 inputs, which may lie outside.
template <bool kInside, class Load>
HWY_INLINE void transform_tile(const Load& input, const Planes& planes,
                               const TilePlace& place, int64_t corner,
                               float* to, int64_t stride) {
  Vec half[6][6];
  for (int64_t j = 0; j < 6; ++j) {
    Vec in[6], out[6];
    const bool in_columns =
        place.column + j >= 1 && place.column + j <= planes.width;
    SOTTA_UNROLL
    for (int64_t i = 0; i < 6; ++i) {
      const bool inside =
          in_columns && place.row + i >= 1 && place.row + i <= planes.height;
      in[i] = kInside || inside
                  ? input(corner + (i * planes.width + j) * kBlock)
                  : zero();
    }
    transform_inputs(in, out);
    SOTTA_UNROLL
    for (int64_t i = 0; i < 6; ++i)
      half[i][j] = out[i];
  }
  for (int64_t i = 0; i < 6; ++i) {
    Vec out[6];
    transform_inputs(half[i], out);
    SOTTA_UNROLL
    for (int64_t j = 0; j < 6; ++j)
      store(out[j], to + (6 * i + j) * stride);
  }
}

template <class Input>
HWY_INLINE void transform_block(Input input, const Planes& planes, Range tiles,
                                int64_t channel, float* transformed) {
  const int64_t stride = position_stride(tiles.size(), planes.channels);
  const int64_t lane = channel % kBlock;
  input.begin(channel);
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const TilePlace place(planes, t);
    const int64_t corner =
        place.image * planes.image() + channel / kBlock * planes.plane() +
        lane + ((place.row - 1) * planes.width + place.column - 1) * kBlock;
    float* to = transformed + (t - tiles.begin) * planes.channels + channel;
    if (place.row > 0 && place.row + 5 <= planes.height && place.column > 0 &&
        place.column + 5 <= planes.width)
      transform_tile<true>(input, planes, place, corner, to, stride);
    else
      transform_tile<false>(input, planes, place, corner, to, stride);
  }
}

void input(const Source& source, const Planes& planes, Range tiles,
           Range blocks, float* transformed) {
  with_source(source, [&](auto functor) HWY_ATTR {
    for (int64_t c = blocks.begin * kBlock; c < blocks.end * kBlock;
         c += kLanes)
      transform_block(functor, planes, tiles, c, transformed);
  });
}

// Hands the outputs of one tile to `sink`, those outside the image excepted.
template <class Output>
HWY_INLINE void untransform_tile(Output& sink, const Planes& planes,
                                 const TilePlace& place, int64_t corner,
                                 const float* from, int64_t stride) {
  Vec half[4][6];
  for (int64_t j = 0; j < 6; ++j) {
    Vec in[6], out[4];
    SOTTA_UNROLL
    for (int64_t i = 0; i < 6; ++i)
      in[i] = load(from + (6 * i + j) * stride);
    transform_outputs(in, out);
    SOTTA_UNROLL
    for (int64_t i = 0; i < 4; ++i)
      half[i][j] = out[i];
  }
  const int64_t rows = HWY_MIN(kTile, planes.height - place.row);
  const int64_t columns = HWY_MIN(kTile, planes.width - place.column);
  for (int64_t i = 0; i < rows; ++i) {
    Vec out[4];
    transform_outputs(half[i], out);
    const int64_t offset = corner + i * planes.width * kBlock;
    if (columns == kTile) {
      SOTTA_UNROLL
      for (int64_t j = 0; j < kTile; ++j)
        sink(offset + j * kBlock, out[j]);
    } else {
      for (int64_t j = 0; j < columns; ++j)
        sink(offset + j * kBlock, out[j]);
    }
  }
}

template <class Output>
HWY_INLINE void untransform_block(Output sink, const Planes& planes,
                                  Range tiles, int64_t channel,
                                  const float* products) {
  const int64_t stride = position_stride(tiles.size(), planes.channels);
  const float* from =
      products + channel / kBlock * tiles.size() * kBlock + channel % kBlock;
  for (int64_t first = tiles.begin; first < tiles.end; first += kTilesPerSum) {
    sink.begin(channel);
    const int64_t last = HWY_MIN(first + kTilesPerSum, tiles.end);
    for (int64_t t = first; t < last; ++t) {
      const TilePlace place(planes, t);
      const int64_t corner =
          place.image * planes.image() + channel / kBlock * planes.plane() +
          channel % kBlock + (place.row * planes.width + place.column) * kBlock;
      untransform_tile(sink, planes, place, corner,
                       from + (t - tiles.begin) * kBlock, stride);
    }
    sink.end(channel);
  }
}

void output(const Sink& sink, const Planes& planes, Range tiles, Range blocks,
            const float* products) {
  with_sink(sink, [&](auto functor) HWY_ATTR {
    for (int64_t c = blocks.begin * kBlock; c < blocks.end * kBlock;
         c += kLanes)
      untransform_block(functor, planes, tiles, c, products);
  });
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(input);
HWY_EXPORT(output);

void winograd_input(const Source& source, const Planes& planes, Range tiles,
                    Range blocks, float* transformed) {
  HWY_DYNAMIC_DISPATCH(input)(source, planes, tiles, blocks, transformed);
}

void winograd_output(const Sink& sink, const Planes& planes, Range tiles,
                     Range blocks, const float* products) {
  HWY_DYNAMIC_DISPATCH(output)(sink, planes, tiles, blocks, products);
}

}  // namespace sotta::engine
#endif
