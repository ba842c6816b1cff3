#pragma once

#include <cstdint>

#include "sotta/core/rng.h"

// Rng's own arithmetic (core/rng.cpp) for kernels: word n of a stream is a
// function of its key and the number, so every element draws by itself.

namespace sotta {

__device__ inline double uniform_at(const Rng::State& stream, uint64_t word) {
  uint64_t bits = stream.key + (stream.counter + word + 1) * 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// The i-th of normal(), which takes two words each.
__device__ inline double normal_at(const Rng::State& stream, uint64_t i) {
  const double radius = sqrt(-2.0 * log1p(-uniform_at(stream, 2 * i)));
  return radius * cos(6.283185307179586 * uniform_at(stream, 2 * i + 1));
}

}  // namespace sotta
