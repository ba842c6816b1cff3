#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "sotta/models/classifier.h"

namespace sotta::testing {

// A network of two classes that sees in a bright left or right half what it was
// made for: everything else leaves it undecided. Knows its own statistics, so
// that a group's drift can be told; its first scale multiplies the logits.
class HalvesClassifier : public Classifier {
 public:
  HalvesClassifier() {
    source_.body = at::zeros({1});
    source_.affine = at::ones({2});
    source_.running_mean = at::zeros({1});
    source_.running_var = at::zeros({1}) + 0.04;
    layers_ = {{"norm", 1, 0}};
  }

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats) const override {
    const at::Tensor pixels = images.scalar_type() == at::kByte
                                  ? images.to(at::kFloat) / 255
                                  : images;
    const at::Tensor left = pixels.narrow(3, 0, 4).mean({1, 2, 3});
    const at::Tensor right = pixels.narrow(3, 4, 4).mean({1, 2, 3});
    ForwardResult result;
    result.logits =
        at::stack({left - right, right - left}, 1) * 20 * state.affine[0];
    result.batch_mean = at::zeros({1});
    result.batch_var = (left - right).var().reshape({1}) + 1e-4;
    return result;
  }
  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return 2; }
  int64_t channels() const override { return 1; }
  const std::vector<NormLayer>& norm_layers() const override { return layers_; }
  const Normalisation& normalisation() const override { return normalisation_; }
  NamedTensors named_tensors(const ModelState&) const override { return {}; }
  std::string engine() const override { return "halves"; }

 private:
  ModelState source_;
  std::vector<NormLayer> layers_;
  Normalisation normalisation_;
};

// One half bright, the other dark, a little uneven.
inline at::Tensor halves(int64_t count, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  at::Tensor images = at::rand({count, 1, 8, 8}, generator) * 0.05;
  const at::Tensor side =
      at::randint(0, 2, {count, 1, 1, 1}, generator).to(at::kFloat);
  images.narrow(3, 0, 4).add_(0.4 * side);
  images.narrow(3, 4, 4).add_(0.4 * (1 - side));
  return images;
}

inline at::Tensor noise(int64_t count, uint64_t seed) {
  return at::rand({count, 1, 8, 8}, at::detail::createCPUGenerator(seed));
}

}  // namespace sotta::testing
