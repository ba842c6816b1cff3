#pragma once

#include <cstdint>

namespace sotta::engine {

// What a kernel reads: the values of planes, passed through the norm layer that
// stands between them and the kernel. Vectors have one number per channel.
struct Source {
  enum class Kind {
    kRaw,           // x
    kNormRelu,      // max(scale * x + shift, 0)
    kNormBackward,  // scale * x + slope * raw + shift: x is a norm layer's
                    // output gradient, raw its input
  };

  Kind kind = Kind::kRaw;
  const float* values = nullptr;  // x
  const float* raw = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
};

// The sums that sinks take on their way, per channel: up to three rows.
constexpr int64_t kSumRows = 3;

// What a kernel does with a value v that it has computed.
struct Sink {
  enum class Kind {
    kStore,          // out = v + other
    kStatistics,     // out = v; sums of (v - centre) and of its square
    kNormRelu,       // out = max(scale * v + shift, 0)
    kNormAddRelu,    // out = max(scale * v + other_scale * other + shift, 0);
                     // without other_scale: 1
    kReluGradient,   // out = v + other where scale * raw + shift > 0, else 0;
                     // sums of out and of out * (raw - centre)
    kBlockGradient,  // out = v + other where the bit is set, else 0; sums of
                     // out, out * (raw - centre), and for a second norm layer
                     // out * (raw2 - centre2)
  };

  Kind kind = Kind::kStore;
  float* out = nullptr;  // of kReluGradient: may be absent
  bool far = false;      // out is too large for the caches
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* other = nullptr;  // but for kNormAddRelu: may be absent
  const float* other_scale = nullptr;
  const float* raw = nullptr;
  const float* centre = nullptr;
  const float* raw2 = nullptr;  // may be absent
  const float* centre2 = nullptr;
  const uint8_t* bits = nullptr;  // see kBitBytes

  // [kSumRows][channels]; what is found is added.
  double* sums = nullptr;
  int64_t channels = 0;
};

// Bytes that hold the bits of one block of channels: wide vectors fill two of
// them, vectors of four lanes half of each.
constexpr int64_t kBitBytes = 4;

// Highway wants eight accessible bytes from where it reads or writes bits.
constexpr int64_t kBitPadding = 8;

}  // namespace sotta::engine
