#pragma once

#include <cstdint>

#include "engine/fused_ops.h"
#include "engine/planes.h"

namespace sotta::engine {

// Winograd's F(4x4, 3x3) for 3x3 convolutions of stride 1 and padding 1: a tile
// of 4x4 outputs needs 6x6 inputs; both go through small linear transforms,
// between which a tile costs 36 products per pair of channels instead of 144.
// Interpolation points 0, 5/8, -5/8, 3/2, -3/2 and infinity.
constexpr int64_t kTile = 4;
constexpr int64_t kPositions = 36;

constexpr int64_t tiles_along(int64_t extent) {
  return (extent + kTile - 1) / kTile;
}

// Tiles are numbered image by image, row by row.
constexpr int64_t tiles_of_image(int64_t height, int64_t width) {
  return tiles_along(height) * tiles_along(width);
}

// Transformed values of some tiles: [36][tiles][channels], with a gap between
// positions so that one tile's values do not fall on each other in the cache.
constexpr int64_t position_stride(int64_t tiles, int64_t channels) {
  return tiles * channels + kBlock;
}

// Reads the tiles through `source` and writes [36][tiles][channels] for some
// blocks of channels.
void winograd_input(const Source& source, const Planes& planes, Range tiles,
                    Range blocks, float* transformed);

// One position's product: left [tiles][inputs] times
// right [outputs / 16][inputs][16] into product [outputs / 16][tiles][16].
struct WinogradProduct {
  int64_t tiles = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
};
void winograd_multiply(const WinogradProduct& sizes, const float* left,
                       const float* right, float* product);

// Transforms products [36] back and hands the outputs to `sink`; `planes` are
// the output's.
void winograd_output(const Sink& sink, const Planes& planes, Range tiles,
                     Range blocks, const float* products);

// Transformed weights have such a gap too.
constexpr int64_t packed_stride(int64_t inputs, int64_t outputs) {
  return inputs * outputs + kBlock;
}

// Convolution weights [outputs][inputs][3][3] as the right sides of the
// products, [36][outputs / 16][inputs][16]. Turned around for the backward
// pass: outputs and inputs change places, and so do the ends of the kernel.
// Writes the blocks of outputs asked for.
struct WinogradWeights {
  const float* weights = nullptr;
  int64_t outputs = 0;
  int64_t inputs = 0;
  bool backward = false;
};
void pack_winograd(const WinogradWeights& weights, Range output_blocks,
                   float* packed);

}  // namespace sotta::engine
