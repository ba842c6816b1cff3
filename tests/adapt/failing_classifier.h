#pragma once

#include <memory>
#include <new>
#include <utility>

#include "engine/wrapped_classifier.h"

namespace sotta::testing {

// A network for whose pass number `fails` from now on there is no memory; 0:
// there is for all.
class FailingClassifier : public engine::WrappedClassifier {
 public:
  using engine::WrappedClassifier::WrappedClassifier;

  mutable int64_t fails = 0;

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    if (fails > 0 && --fails == 0) throw std::bad_alloc();
    return reference().forward(images, state, stats);
  }
  std::string engine() const override { return "failing"; }
};

}  // namespace sotta::testing
