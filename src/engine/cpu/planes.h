#pragma once

#include <cstdint>

namespace sotta::engine {

// Channels that lie together in memory, whatever the width of the processor's
// vectors; every lane of a vector is a channel of its own, so all processors
// add up in the same order.
constexpr int64_t kBlock = 16;

constexpr int64_t blocks_of(int64_t channels) {
  return (channels + kBlock - 1) / kBlock;
}

// Activations as the kernels keep them:
// [images][channels / 16][height][width][16].
struct Planes {
  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  int64_t blocks() const { return blocks_of(channels); }
  int64_t plane() const { return height * width * kBlock; }  // of one block
  int64_t image() const { return blocks() * plane(); }
  int64_t size() const { return images * image(); }

  // Numbers of an image as LibTorch keeps it, [channels][height][width].
  int64_t plain_image() const { return channels * height * width; }
};

// From `begin` up to, without, `end`.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

}  // namespace sotta::engine
