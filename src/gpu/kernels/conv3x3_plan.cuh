#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/kernels/conv3x3_kernel.cuh"

// How the work of a convolution is cut into tiles and blocks.

namespace sotta::conv_tiles {

struct Layer {
  Taps taps;
  int images, height, width;  // of the output
  int from, to;               // channels
  int chunk;                  // channels in kLine bytes
};

// Tiles are 16x16 pixels of an image, four images of 8x8 or 16 of 4x4. Channels
// are those of packed kernels, always whole chunks and blocks.
inline bool covers(const Layer& layer) {
  const bool large = layer.height > 0 && layer.height % 16 == 0 &&
                     layer.width > 0 && layer.width % 16 == 0;
  const bool small =
      layer.height == layer.width && (layer.height == 8 || layer.height == 4);
  return (large || small) && layer.images > 0 && layer.images % 16 == 0 &&
         int64_t{layer.images} * layer.height * layer.width < (1 << 30);
}

// What the taps of a tile look at that is `side` pixels wide and high: planes
// of so many rows of so many pixels, of every image.
struct Box {
  int width, height, planes;
};
inline Box box_of(Taps taps, int side) {
  switch (taps) {
    case Taps::k3x3:
      return {side + 2, side + 2, 1};
    case Taps::k3x3Stride2:
      return {side + 1, side, 2};
    default:
      return {side, side, 1};
  }
}

// `column`: lines from a pixel of a box to the next of its row. Planes are of
// whole eight lines on every side, as parts of lines are swapped by eights.
inline void place_taps(const Box& box, int images, int column,
                       TileShape& shape) {
  const int plane = box.width * box.height * images;
  shape.box_bytes = plane * box.planes * kLine;
  shape.tap_column = column;
  shape.tap_row = box.width * column;
}

// Patches of eight by eight pixels: four of an image, or one of each of four.
inline TileShape patches_in(Taps taps, int side, int images, int image_width) {
  const Box box = box_of(taps, side);
  const int line = box.width, page = line * box.height;
  TileShape shape = {};
  place_taps(box, images, /*column=*/1, shape);
  for (int p = 0; p < kPatches; ++p) {
    const int image = images == 1 ? 0 : p;
    const int y = images == 1 ? p / 2 * 8 : 0, x = images == 1 ? p % 2 * 8 : 0;
    shape.patch[p] = image * page + y * line + x;
    shape.out_patch[p] = (image * side + y) * image_width + x;
  }
  shape.group = line;
  shape.out_pixel = 1;
  shape.out_group = image_width;
  shape.out_two_groups = 2 * image_width;
  return shape;
}

// 16 images of 4x4, pixel for pixel: a patch is a row of all.
inline TileShape rows_of_images(Taps taps) {
  constexpr int kImages = 16, kSide = 4;
  const Box box = box_of(taps, kSide);
  TileShape shape = {};
  place_taps(box, kImages, /*column=*/kImages, shape);
  for (int y = 0; y < kSide; ++y) {
    shape.patch[y] = y * box.width * kImages;
    shape.out_patch[y] = y * kSide;
  }
  shape.group = 8;
  shape.out_pixel = kSide * kSide;
  shape.out_group = 8 * kSide * kSide;
  shape.out_two_groups = 1;
  return shape;
}

// Tiles and blocks that a GPU should have at once; a constant, so that results
// do not depend on the GPU.
constexpr int kBusy = 128;

// Of shared memory: the barriers, rounded up to where boxes may begin.
constexpr int kReservedBytes = 1024;
static_assert(kBarriers * sizeof(uint64_t) <= kReservedBytes);

struct Plan {
  Taps taps;
  ConvPass pass;  // but for its pointers
  int columns;    // of a tile: channels of the output
  int blocks;     // that share the input's channels of a tile
  int grid;
  int shared_bytes;
};

// How the layer falls into tiles of all channels of the output.
inline ConvPass tiles_of(const Layer& layer) {
  ConvPass pass = {};
  pass.tile_side = layer.height == 4 || layer.height == 8 ? layer.height : 16;
  pass.tile_images = kPixels / (pass.tile_side * pass.tile_side);
  pass.images_first = pass.tile_side == 4;
  pass.shape = pass.images_first ? rows_of_images(layer.taps)
                                 : patches_in(layer.taps, pass.tile_side,
                                              pass.tile_images, layer.width);
  pass.tiles_across = layer.width / pass.tile_side;
  pass.tiles_down = layer.height / pass.tile_side;
  pass.tiles =
      layer.images / pass.tile_images * pass.tiles_across * pass.tiles_down;
  pass.chunks = layer.from / layer.chunk;
  pass.height = layer.height;
  pass.width = layer.width;
  pass.channels = layer.to;
  pass.input_channels = layer.from;
  pass.odd = pass.shape.box_bytes / 2 / kLine;
  return pass;
}

// Few tiles keep many multiprocessors busy if they are narrow, and two blocks
// share the work of each.
inline Plan plan(const Layer& layer, int processors, int most_shared_bytes) {
  Plan plan = {layer.taps, tiles_of(layer), kPacked, 1, 0, 0};
  ConvPass& pass = plan.pass;
  const int wide_tiles = pass.tiles * (layer.to / kPacked);
  if (2 * wide_tiles <= kBusy && pass.chunks % 2 == 0) {
    plan.blocks = 2;
    pass.chunks /= 2;
    if (4 * wide_tiles <= kBusy) plan.columns = kPacked / 2;
  }
  pass.columns = layer.to / plan.columns;
  pass.tiles *= pass.columns;
  const int boxes = kBoxesAhead * box_step(pass.shape.box_bytes);
  const int row = row_bytes(layer.taps, plan.columns);
  pass.rows_ahead = std::min((most_shared_bytes - boxes) / row, kMostRows);
  pass.keeps_rows =
      pass.columns == 1 && side_of(layer.taps) * pass.chunks <= pass.rows_ahead;
  plan.shared_bytes = boxes + pass.rows_ahead * row;
  plan.grid = plan.blocks == 1 ? std::min(pass.tiles, processors)
                               : pass.tiles * plan.blocks;
  return plan;
}

}  // namespace sotta::conv_tiles
