#pragma once

#include <cstdint>

#include "gpu/kernels/hopper.cuh"

// What a block of a convolution (conv3x3_kernel.cuh) is given, and which
// numbers of a tile its threads have.

namespace sotta::conv_tiles {

constexpr int kPixels = 256;
constexpr int kPacked = 64;  // channels of the output in a packed block
constexpr int kLine = 128;   // bytes of a pixel in shared memory: one chunk
constexpr int kPatches = 4;  // of 64 pixels
constexpr int kGroup = 128;  // threads that multiply together
constexpr int kGroups = 2;   // of two patches each
constexpr int kThreads = kGroups * kGroup + 32;  // one warp copies
constexpr int kBoxesAhead = 2;
constexpr int kMostRows = 12;  // of kernels, ahead

// The taps of a convolution's kernels, and its stride.
enum class Taps { k3x3, k3x3Stride2, k1x1Stride2 };

__host__ __device__ constexpr int side_of(Taps taps) {
  return taps == Taps::k1x1Stride2 ? 1 : 3;
}
__host__ __device__ constexpr int stride_of(Taps taps) {
  return taps == Taps::k3x3 ? 1 : 2;
}

// Rows of taps that find their pixels in one box. With stride 2 each has one of
// its own: boxes for all would be four times as large.
__host__ __device__ constexpr int rows_of_box(Taps taps) {
  return taps == Taps::k3x3 ? 3 : 1;
}

// What shared memory must have room for, or blocks would wait for ever: see
// copy_tiles().
__host__ __device__ constexpr int fewest_rows(Taps taps) {
  return taps == Taps::k3x3 ? 3 : 2;
}

// Where the pixels of a tile lie, in lines of its box in shared memory and in
// pixels of the output. A patch is eight groups of eight pixels. With stride 2
// neighbours in a box are every second pixel of a row: those of even number,
// and, if the kernels are 3x3, behind all of them those of odd number.
struct TileShape {
  int box_bytes;
  int patch[kPatches];  // its first pixel, from the tile's
  int group;            // from a group to the next
  int tap_row, tap_column;
  int out_patch[kPatches];
  int out_pixel, out_group, out_two_groups;
};

// What becomes of sums before they are written.
enum class Epilogue {
  kNone,
  kNorm,  // a norm layer of known statistics, a residual's sum, a ReLU
  kSums,  // none, but sums over the tile are written too
};

// relu(scale * (sum - mean) / sqrt(var + epsilon) + shift + residual)
struct NormEpilogue {
  const float *scale, *shift, *mean, *var;  // the first lane's
  int64_t affine_step, running_step;        // from a lane's to the next one's
  int lane_images;       // of each lane: of a whole number of tiles
  const void* residual;  // as the output lies, or none
  bool relu;
};

// For a norm layer that measures its batch: over the pixels of a tile, or of
// each block's half if two share it, of every channel's distances from the
// running mean, and of their squares.
struct SumsEpilogue {
  const float* running_mean;  // the first lane's
  int64_t running_step;       // from a lane's to the next one's
  int lane_images;            // as in NormEpilogue
  float* sums;                // [tiles or halves, 2, channels of the output]
};

struct ConvPass {
  CUtensorMap input;
  const char* kernels;  // packed
  void* output;
  NormEpilogue norm;  // for Epilogue::kNorm
  SumsEpilogue over;  // for Epilogue::kSums
  TileShape shape;
  int tiles;
  int columns;                   // tiles side by side for the output's channels
  int chunks;                    // of the input's channels, for each block
  int rows_ahead;                // of kernels, that shared memory has room for
  bool keeps_rows;               // all that a block ever needs
  int tiles_across, tiles_down;  // in an image
  int tile_side, tile_images;
  int height, width, channels;  // of the output
  bool images_first;            // in the box: behind the channels come images
  // With stride 2:
  int input_channels;
  int odd;  // where pixels of odd number begin, in lines of a box
};

struct Place {
  int x, y, image, column;
};

__device__ inline Place place_of(const ConvPass& pass, int tile) {
  const int spot = tile / pass.columns;
  const int image = spot / (pass.tiles_across * pass.tiles_down);
  const int within = spot % (pass.tiles_across * pass.tiles_down);
  return {within % pass.tiles_across * pass.tile_side,
          within / pass.tiles_across * pass.tile_side, image * pass.tile_images,
          tile % pass.columns};
}

// What a thread has of a tile's two patches: of each the rows `lane / 4` and
// eight below of its warp's, in the order of hopper::multiply().
template <int kColumns>
struct Sums {
  float patch[2][kColumns / 2];
};

// Channels of an output's pixel that a thread writes at once, 16 bytes. Of a
// tile's columns it has every fourth such pack.
template <class Value>
constexpr int kWide = 16 / sizeof(Value);
template <class Value, int kColumns>
constexpr int kPacksOfThread = kColumns / 4 / kWide<Value>;

// Where the sum lies that is channel `c` of the thread's pack, in the upper or
// the lower row: pack() puts a pack's channels into the columns of one thread.
template <class Value>
__host__ __device__ constexpr int sum_of(int pack, int c, int below) {
  return pack * 2 * kWide<Value> + 4 * (c / 2) + c % 2 + 2 * below;
}

// The output's channel that the thread's first pack begins with.
template <class Value, int kColumns>
__device__ int first_channel(const Place& at) {
  return at.column * kColumns +
         static_cast<int>(threadIdx.x) % 4 * kWide<Value>;
}

// How far from the output's first value the thread's first pack of the patch's
// upper row lies.
template <class Value, int kColumns>
__device__ int64_t place_in_output(const ConvPass& pass, const Place& at,
                                   int patch) {
  const int warp = threadIdx.x % kGroup / 32, lane = threadIdx.x % 32;
  const int pixel = (at.image * pass.height + at.y) * pass.width + at.x +
                    pass.shape.out_patch[patch] +
                    warp * pass.shape.out_two_groups +
                    lane / 4 * pass.shape.out_pixel;
  return static_cast<int64_t>(pixel) * pass.channels +
         first_channel<Value, kColumns>(at);
}

// From the upper row's to the lower one's.
__device__ inline int64_t step_below(const ConvPass& pass) {
  return static_cast<int64_t>(pass.shape.out_group) * pass.channels;
}

}  // namespace sotta::conv_tiles
