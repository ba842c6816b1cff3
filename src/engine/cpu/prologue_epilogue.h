#pragma once

#include <cstdint>

namespace sotta::engine {

// Norm layers, ReLUs, residual sums and statistics are not passes over memory
// of their own. They are fused into the convolutions: a prologue is applied
// where a kernel loads its input, an epilogue where it stores its results.
//
// pre_norm is a norm layer's input, that is, the output of the convolution
// before it: the one activation that a forward pass stores per layer.

// What a kernel loads instead of x. Vectors have one number per channel;
// activations have the layout NCHW16c (activation_shape.h).
struct Prologue {
  enum class Kind {
    kIdentity,      // x
    kNormRelu,      // max(scale * x + shift, 0)
    kNormBackward,  // scale * x + slope * pre_norm + shift: the gradient of a
                    // norm layer's input from x, that of its output
  };

  Kind kind = Kind::kIdentity;
  const float* values = nullptr;  // x
  const float* pre_norm = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
};

// Rows of sums per channel that an epilogue can take.
constexpr int64_t kSumRows = 3;

// What a kernel does with a result v.
struct Epilogue {
  enum class Kind {
    kStore,          // out = v + addend
    kStatistics,     // out = v + addend; sums of (out - centre) and of its
                     // square
    kNormRelu,       // out = max(scale * v + shift, 0)
    kNormAddRelu,    // out = max(scale * v + addend_scale * addend + shift, 0);
                     // without addend_scale: 1
    kReluGradient,   // out = v + addend where scale * pre_norm + shift > 0,
                     // else 0; sums of out and of out * (pre_norm - centre)
    kBlockGradient,  // out = v + addend where the mask's bit is set, else 0;
                     // sums of out, out * (pre_norm - centre), and for the
                     // shortcut's norm layer out * (pre_norm2 - centre2)
  };

  Kind kind = Kind::kStore;
  float* out = nullptr;    // of kReluGradient: may be absent
  bool streaming = false;  // store past the caches
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* addend = nullptr;  // but for kNormAddRelu: may be absent
  const float* addend_scale = nullptr;
  const float* pre_norm = nullptr;
  const float* centre = nullptr;
  const float* pre_norm2 = nullptr;  // may be absent
  const float* centre2 = nullptr;
  const uint8_t* relu_mask = nullptr;  // see kMaskBytes

  // [kSumRows][channels]; the sums are added to what is there.
  double* sums = nullptr;
  int64_t channels = 0;

  // Of kNormRelu and kNormAddRelu: so many images have vectors of their own,
  // the next as many those behind them, [lanes][channels]. 0: all have the
  // same.
  int64_t images_per_lane = 0;

  // Where an image's vectors begin, from where those of the first do.
  int64_t vectors_of(int64_t image) const {
    return images_per_lane == 0 ? 0 : image / images_per_lane * channels;
  }
};

// A ReLU's mask has one bit per number, in kMaskBytes for one pixel's block of
// 16 channels: vectors of 16 or 8 lanes fill two of the bytes, those of 4 lanes
// half of each of the four.
constexpr int64_t kMaskBytes = 4;

// Highway wants eight accessible bytes from where it reads or writes mask bits.
constexpr int64_t kMaskPadding = 8;

}  // namespace sotta::engine
