#pragma once

#include <string>
#include <vector>

namespace sotta::engine {

// The vector instructions that kernels were compiled for and this processor
// has, best first: "AVX3" (AVX-512), "AVX2", "NEON". Empty where there are none
// that make the engine worth its while.
std::vector<std::string> simd_targets();

// Makes kernels use this target from now on, for tests and comparisons. Throws
// Error(kInvalid) if it is not one of simd_targets().
void use_simd_target(const std::string& name);

// Undoes use_simd_target().
void use_best_simd_target();

}  // namespace sotta::engine
