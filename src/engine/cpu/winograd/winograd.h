#pragma once

#include <cstdint>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/bfloat16.h"
#include "engine/cpu/prologue_epilogue.h"

namespace sotta::engine {

// Winograd's minimal filtering for 3x3 convolutions of padding 1. F(4x4,3x3)
// computes a tile of 4x4 outputs Y from a tile d of 6x6 inputs and a kernel g:
//
//   Y = A^T [ sum over channels (G g G^T) .* (B^T d B) ] A,
//
// .* being the product of equal positions: 36 multiplications per pair of
// channels instead of 144. The sum over channels makes a GEMM of each of the 36
// positions, with tiles as rows:
//
//   winograd_input    B^T d B     [position][tiles][inputs]     left operand
//   pack_..._weights  G g G^T     [position][outputs/16][inputs][16]    right
//   winograd_gemm     left*right  [position][outputs/16][tiles][16]   product
//   winograd_output   A^T m A     4x4 outputs to the epilogue
//
// A, B and G interpolate polynomials at the points 0, 5/8, -5/8, 3/2, -3/2 and
// infinity (winograd_transforms-inl.h).
//
// F(4x8,3x3) has wide tiles: F(4,3) down the columns and F(8,3) along the
// rows, 60 multiplications for 4x8 outputs, a sixth fewer per output. With more
// points rounding errors are five times as large: with 64 channels 4e-6 of a
// layer's outputs instead of 8e-7. Predictions would show it. Gradients do not:
// ReLUs whose inputs are within rounding of zero change them by more. So only
// the backward pass takes wide tiles.
//
// Stride 2: along a line, outputs read the odd inputs through the two outer
// taps, and the even inputs through the middle tap. The outer taps are a kernel
// of 3 whose first tap is zero, for which the point 0 drops out: 5 products for
// 4 outputs. The middle tap takes 4. Together 9 along a line and 81 in a tile
// of 4x4 outputs instead of 144. The backward pass transposes this.
enum class Tiling {
  kF4x4,             // F(4x4,3x3): 4x4 outputs from 6x6 inputs
  kF4x8,             // F(4x8,3x3): 4x8 outputs from 6x10 inputs, backward only
  kStride2,          // of stride 2: 4x4 outputs from 9x9 inputs
  kStride2Backward,  // its gradient: 8x8 outputs from 5x5 inputs
  kIdentity,         // 4x4 from 4x4, not transformed: a shortcut's 1x1 kernel
};

// Positions of a transformed tile: products per pair of channels.
constexpr int64_t positions_of(Tiling tiling) {
  switch (tiling) {
    case Tiling::kF4x4:
      return 6 * 6;
    case Tiling::kF4x8:
      return 6 * 10;
    case Tiling::kIdentity:
      return 4 * 4;
    case Tiling::kStride2:
    case Tiling::kStride2Backward:
      break;
  }
  return 9 * 9;
}

// Pixels from tile to tile.
struct TileStep {
  int64_t rows = 0;
  int64_t columns = 0;
};
constexpr TileStep input_step(Tiling tiling) {
  if (tiling == Tiling::kF4x8) return {4, 8};
  return tiling == Tiling::kStride2 ? TileStep{8, 8} : TileStep{4, 4};
}
constexpr TileStep output_step(Tiling tiling) {
  if (tiling == Tiling::kF4x8) return {4, 8};
  return tiling == Tiling::kStride2Backward ? TileStep{8, 8} : TileStep{4, 4};
}

// Both operands may be rounded to bfloat16, for processors that multiply these
// twice as fast and sum up in float (AVX512-BF16). Their instruction adds two
// products at a time to a sum, so two inputs of an output lie side by side:
//
//   left   [position][tiles][inputs]
//   right  [position][outputs/16][inputs/2][16][2]
//
// Everything else stays float. Relative errors are then 1 % of a layer's
// outputs with F(4x4,3x3), six times as large with F(4x8,3x3), which therefore
// is not taken.

// Tiles are numbered image by image, row by row.
constexpr int64_t tiles_along(int64_t extent, int64_t step) {
  return (extent + step - 1) / step;
}
constexpr int64_t tiles_per_image(const ActivationShape& shape, TileStep step) {
  return tiles_along(shape.height, step.rows) *
         tiles_along(shape.width, step.columns);
}

// Numbers from position to position of transformed tiles: a gap of one cache
// line keeps the positions of one tile, which are written and read together,
// from falling into the same set of the cache.
constexpr int64_t kCacheLine = 64;  // bytes
template <class Number>
constexpr int64_t kPositionGap = kCacheLine /
                                 static_cast<int64_t>(sizeof(Number));
template <class Number = float>
constexpr int64_t position_stride(int64_t tiles, int64_t channels) {
  return tiles * channels + kPositionGap<Number>;
}

// Reads tiles through `prologue` and writes their transforms
// [positions][tiles][channels], for some blocks of channels; `shape` is the
// input's. Inputs outside the image are zero.
void winograd_input(Tiling tiling, const Prologue& prologue,
                    const ActivationShape& shape, Range tiles, Range blocks,
                    float* transformed);
void winograd_input(Tiling tiling, const Prologue& prologue,
                    const ActivationShape& shape, Range tiles, Range blocks,
                    Bfloat16* transformed);

// Outputs are multiplied in panels of at most so many channels: of the widest
// register tile's.
constexpr int64_t kOutputPanel = 64;

// The GEMM of one position and panel: left [tiles][inputs], with `left_stride`
// numbers from tile to tile, times right [outputs / 16][inputs][16] into
// product [outputs / 16][tiles][16].
struct WinogradGemm {
  int64_t tiles = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t left_stride = 0;
  bool accumulate = false;  // adds to what `product` holds
};
void winograd_gemm(const WinogradGemm& sizes, const float* left,
                   const float* right, float* product);

// The same of bfloat16, right [outputs / 16][inputs / 2][16][2]. Subnormal
// operands count as zero. Only where multiplies_bfloat16().
void winograd_gemm(const WinogradGemm& sizes, const Bfloat16* left,
                   const Bfloat16* right, float* product);

// Whether the processor has instructions for that, among the vector
// instructions in use (simd_target.h).
bool multiplies_bfloat16();

// Transforms the products of a panel of outputs back and applies `epilogue`;
// `shape` is the output's. Outputs outside the image are dropped.
void winograd_output(Tiling tiling, const Epilogue& epilogue,
                     const ActivationShape& shape, Range tiles, Range panel,
                     const float* products);

// Numbers from position to position of packed weights, with a gap as above.
template <class Number = float>
constexpr int64_t packed_stride(int64_t inputs, int64_t outputs) {
  return inputs * outputs + kPositionGap<Number>;
}

// Positions of a transformed kernel: 6x6, of wide tiles 6x10, of kIdentity one.
// With stride 2 the four positions of the middle tap share a weight, so that
// 9x9 products need 6x6 weights:
//
//   along a line     product 0 1 2 3 4 | 5 6 7 8
//                    weight  0 1 2 3 4 | 5 5 5 5
constexpr int64_t packed_positions(Tiling tiling) {
  if (tiling == Tiling::kF4x8) return positions_of(tiling);
  return tiling == Tiling::kIdentity ? 1 : 6 * 6;
}
constexpr int64_t packed_position(Tiling tiling, int64_t position) {
  if (tiling == Tiling::kF4x4 || tiling == Tiling::kF4x8) return position;
  if (tiling == Tiling::kIdentity) return 0;
  const int64_t row = position / 9, column = position % 9;
  return 6 * (row < 5 ? row : 5) + (column < 5 ? column : 5);
}

// Of stride 2: the position whose input is pixel `identity` of 4x4, read
// through the middle tap in both directions. A shortcut's 1x1 kernel reads the
// same.
constexpr int64_t middle_position(int64_t identity) {
  return (5 + identity / 4) * 9 + 5 + identity % 4;
}

// Convolution weights [outputs][inputs][3][3], of kIdentity [outputs][inputs].
// Packed for the backward pass, outputs and inputs change places, and the
// kernel is turned by 180 degrees.
struct WinogradWeights {
  const float* weights = nullptr;
  int64_t outputs = 0;
  int64_t inputs = 0;
  Tiling tiling = Tiling::kF4x4;
  bool backward = false;
};

// Transforms kernels and writes [packed positions][outputs / 16][inputs][16],
// of bfloat16 [packed positions][outputs / 16][inputs / 2][16][2], for a panel
// of outputs and some inputs, both of the direction that is packed.
void pack_winograd_weights(const WinogradWeights& weights, Range panel,
                           Range inputs, float* packed);
void pack_winograd_weights(const WinogradWeights& weights, Range panel,
                           Range inputs, Bfloat16* packed);

// Prefetches one of `shares` parts of what pack_winograd_weights() will read.
void prefetch_winograd_weights(const WinogradWeights& weights, Range panel,
                               Range inputs, int64_t share, int64_t shares);

}  // namespace sotta::engine
