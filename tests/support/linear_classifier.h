#pragma once

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/models/classifier.h"

namespace sotta::testing {

// A classifier to compute by hand. Images are one pixel with a channel per
// class, and logits = scale * pixel + shift; its one norm layer normalises
// nothing, whatever statistics are asked for.
class LinearClassifier : public Classifier {
 public:
  LinearClassifier(int64_t classes, double scale) : classes_(classes) {
    source_.body = at::zeros({0});
    source_.affine =
        at::cat({at::full({classes}, scale), at::zeros({classes})});
    source_.running_mean = at::zeros({classes});
    source_.running_var = at::ones({classes});
    layers_ = {{"bn1", classes, 0}};
  }

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats) const override {
    const at::Tensor pixels = images.flatten(1);
    return {pixels * state.affine.narrow(0, 0, classes_) +
                state.affine.narrow(0, classes_, classes_),
            pixels, source_.running_mean, source_.running_var};
  }

  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return classes_; }
  int64_t channels() const override { return classes_; }
  const std::vector<NormLayer>& norm_layers() const override { return layers_; }
  const Normalisation& normalisation() const override { return normalisation_; }
  NamedTensors named_tensors(const ModelState& state) const override {
    return {{"affine", state.affine}};
  }
  std::string engine() const override { return "by hand"; }

 private:
  int64_t classes_;
  ModelState source_;
  std::vector<NormLayer> layers_;
  Normalisation normalisation_;
};

// Two classes, scale 4: the first pixel of each sample is set so that its
// logits are (difference, 0), and so its probabilities sigmoid(+-difference).
constexpr double kLinearScale = 4;

inline at::Tensor two_class_images(const std::vector<double>& differences) {
  const at::Tensor first = at::tensor(differences).div(kLinearScale);
  return at::stack({first, at::zeros_like(first)}, 1)
      .to(at::kFloat)
      .reshape({-1, 2, 1, 1});
}

}  // namespace sotta::testing
