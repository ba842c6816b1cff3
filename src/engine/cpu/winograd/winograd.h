#pragma once

#include <cstdint>

#include "engine/cpu/fused_ops.h"
#include "engine/cpu/planes.h"

namespace sotta::engine {

// Winograd's F(4x4, 3x3) for 3x3 convolutions of padding 1: a tile of 4x4
// outputs needs 6x6 inputs; both go through small linear transforms, between
// which a tile costs 36 products per pair of channels instead of 144.
// Interpolation points 0, 5/8, -5/8, 3/2, -3/2 and infinity.
//
// With a stride of 2, outputs see the odd inputs along a line through the outer
// two taps and the even ones through the middle tap. Two taps are three of
// which the first is zero, so that the point 0 drops out: 5 products for 4
// outputs, and 4 for the middle tap, together 9 along a line and 81 in a tile
// instead of 144. The way back is the same the other way round.
//
// Wide tiles are F(4, 3) down the columns and F(8, 3) across the rows: 60
// products for 4x8 outputs, a sixth fewer. With more points rounding errors are
// five times as large: with 64 channels 4e-6 of a layer's outputs instead of
// 8e-7. Predictions would show it. Gradients do not: ReLUs whose inputs are
// within rounding of zero change them by more. So only the way back takes wide
// tiles.
enum class Tiling {
  kSame,      // 4x4 outputs from 6x6 inputs
  kWide,      // 4x8 outputs from 6x10 inputs, for the way back
  kHalving,   // of stride 2: 4x4 outputs from 9x9 inputs
  kDoubling,  // its way back: 8x8 outputs from 5x5 inputs
  kPlain,     // 4x4 from 4x4, as they are: a shortcut's 1x1 kernel
};

// Products of a tile.
constexpr int64_t positions_of(Tiling tiling) {
  switch (tiling) {
    case Tiling::kSame:
      return 6 * 6;
    case Tiling::kWide:
      return 6 * 10;
    case Tiling::kPlain:
      return 4 * 4;
    case Tiling::kHalving:
    case Tiling::kDoubling:
      break;
  }
  return 9 * 9;
}

// Pixels from tile to tile, where they are read and where they are written.
struct Step {
  int64_t down = 0;
  int64_t across = 0;
};
constexpr Step step_in(Tiling tiling) {
  if (tiling == Tiling::kWide) return {4, 8};
  return tiling == Tiling::kHalving ? Step{8, 8} : Step{4, 4};
}
constexpr Step step_out(Tiling tiling) {
  if (tiling == Tiling::kWide) return {4, 8};
  return tiling == Tiling::kDoubling ? Step{8, 8} : Step{4, 4};
}

// Tiles are numbered image by image, row by row.
constexpr int64_t tiles_along(int64_t extent, int64_t step) {
  return (extent + step - 1) / step;
}
constexpr int64_t tiles_of_image(const Planes& planes, Step step) {
  return tiles_along(planes.height, step.down) *
         tiles_along(planes.width, step.across);
}

// Transformed values of some tiles: [positions][tiles][channels], with a gap
// between positions so that one tile's values do not fall on each other in the
// cache.
constexpr int64_t position_stride(int64_t tiles, int64_t channels) {
  return tiles * channels + kBlock;
}

// Reads the tiles through `source` and writes [positions][tiles][channels] for
// some blocks of channels; `planes` are the input's.
void winograd_input(Tiling tiling, const Source& source, const Planes& planes,
                    Range tiles, Range blocks, float* transformed);

// Outputs are multiplied in groups of at most so many, as wide as the widest
// patches of the multiplication.
constexpr int64_t kGroup = 64;

// One position's product for a group of outputs: left [tiles][inputs], with
// `left_stride` numbers from tile to tile, times right
// [outputs / 16][inputs][16] into product [outputs / 16][tiles][16].
struct WinogradProduct {
  int64_t tiles = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t left_stride = 0;
  bool add = false;  // goes on with the sums that `product` holds
};
void winograd_multiply(const WinogradProduct& sizes, const float* left,
                       const float* right, float* product);

// Transforms products [positions] of the outputs of `group` back and hands them
// to `sink`; `planes` are the output's.
void winograd_output(Tiling tiling, const Sink& sink, const Planes& planes,
                     Range tiles, Range group, const float* products);

// Transformed weights have such a gap too.
constexpr int64_t packed_stride(int64_t inputs, int64_t outputs) {
  return inputs * outputs + kBlock;
}

// Transformed kernels are 6x6, wide ones 6x10, and the plain one's 1x1: all
// positions of a middle tap share one.
constexpr int64_t packed_positions(Tiling tiling) {
  if (tiling == Tiling::kWide) return positions_of(tiling);
  return tiling == Tiling::kPlain ? 1 : 6 * 6;
}
constexpr int64_t packed_position(Tiling tiling, int64_t position) {
  if (tiling == Tiling::kSame || tiling == Tiling::kWide) return position;
  if (tiling == Tiling::kPlain) return 0;
  const int64_t row = position / 9, column = position % 9;
  return 6 * (row < 5 ? row : 5) + (column < 5 ? column : 5);
}

// Where both taps are the middle ones, as with a plain tile's positions.
constexpr int64_t middle_position(int64_t plain) {
  return (5 + plain / 4) * 9 + 5 + plain % 4;
}

// Convolution weights [outputs][inputs][3][3], plain: [outputs][inputs], as the
// right sides of the products. Turned around for the backward pass: outputs and
// inputs change places, and so do the ends of the kernel.
struct WinogradWeights {
  const float* weights = nullptr;
  int64_t outputs = 0;
  int64_t inputs = 0;
  Tiling tiling = Tiling::kSame;
  bool backward = false;
};

// Writes [packed positions][outputs / 16][inputs][16] for a group of outputs
// and some inputs.
void pack_winograd(const WinogradWeights& weights, Range group, Range inputs,
                   float* packed);

// Asks the memory for one of `shares` of what pack_winograd() will read.
void prefetch_winograd(const WinogradWeights& weights, Range group,
                       Range inputs, int64_t share, int64_t shares);

}  // namespace sotta::engine
