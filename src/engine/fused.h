#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sotta/models/classifier.h"

namespace sotta::engine {

// The vector instructions that the fused engine can use here, best first; empty
// where it is not in the build or has none.
std::vector<std::string> fused_targets();

// Whether the fused engine covers the classifier's network.
bool is_fusible(const Classifier& model);

// The classifier, which must be fusible, run by the fused engine; the LibTorch
// one inside it does what the engine does not cover.
std::unique_ptr<Classifier> make_fused(std::unique_ptr<Classifier> model,
                                       bool low_memory);

}  // namespace sotta::engine
