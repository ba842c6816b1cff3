#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sotta/gpu/device.h"
#include "sotta/models/classifier.h"

namespace sotta::engine {

// The seam to the fused CPU engine: cpu/fused_classifier.cpp, or
// cpu/fused_none.cpp in builds without Highway.

// The names that the engine's classifiers can have here with a precision. In
// fp32 one for each set of vector instructions, best first: "fused-avx3",
// "fused-avx2"; in bf16 "fused-avx3-bf16", with AVX512-BF16 alone. Empty where
// the engine is not in the build or the processor has no such instructions.
std::vector<std::string> fused_engines(
    Precision precision = Precision::kFloat32);

// Whether the fused engine runs the classifier already.
bool is_fused(const Classifier& model);

// Whether the fused engine covers the classifier's network.
bool is_fusible(const Classifier& model);

// The classifier, which must be fusible, run by the fused engine; the LibTorch
// one inside it does what the engine does not cover.
std::unique_ptr<Classifier> make_fused(std::unique_ptr<Classifier> model,
                                       bool low_memory);

}  // namespace sotta::engine
