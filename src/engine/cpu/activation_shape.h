#pragma once

#include <cstdint>

namespace sotta::engine {

// Channels that lie together in memory, whatever the width of the processor's
// vectors. A lane of a vector is a channel, so that every processor adds up in
// the same order.
constexpr int64_t kChannelBlock = 16;

constexpr int64_t channel_blocks_of(int64_t channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock;
}

// The shape of activations or of their gradients. In memory they have the
// layout NCHW16c, [images][channels / 16][height][width][16]:
//
//   image 0                                            image 1
//   | plane 0: channels 0-15      | plane 1: 16-31 | ..| ..
//   | (0,0)    (0,1)   .. (H,W)   |                |   |
//   | 16 ch.   16 ch.     16 ch.  |
//
// If the channels are no multiple of 16, the rest of the last block is zero.
struct ActivationShape {
  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  // Sizes in numbers.
  int64_t channel_blocks() const { return channel_blocks_of(channels); }
  int64_t plane_size() const { return height * width * kChannelBlock; }
  int64_t image_size() const { return channel_blocks() * plane_size(); }
  int64_t size() const { return images * image_size(); }

  // Of an image as LibTorch stores it, [channels][height][width].
  int64_t nchw_image_size() const { return channels * height * width; }
};

// From `begin` up to, without, `end`.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

}  // namespace sotta::engine
