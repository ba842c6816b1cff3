#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "sotta/core/rng.h"

#include "models/resnet.h"
#include "nn/random_tensor.h"

namespace sotta::engine {

// A network that has a name, or ResNet8 with ImageNet's stem ("imagenet"),
// ("imagenet-")"bottlenecks", or "uneven" widths.
inline ResNetSpec spec_of(const std::string& name, int64_t channels) {
  if (name.rfind("resnet", 0) == 0) return named_resnet(name, 10, channels);
  ResNetSpec spec = named_resnet("resnet8", 10, channels);
  if (name.find("imagenet") != name.npos)
    spec.stem = ResNetSpec::Stem::kImagenet;
  if (name.find("bottlenecks") != name.npos) {
    spec.block = ResNetSpec::Block::kBottleneck;
    spec.blocks = {2, 1, 2};
  }
  if (name == "uneven") spec.widths = {16, 24, 48};
  return spec;
}

// A network whose norm layers all do something; LibTorch runs it.
inline std::unique_ptr<Classifier> make_model(const std::string& name,
                                              int64_t channels = 3) {
  const ResNetSpec spec = spec_of(name, channels);
  ModelState state = random_resnet_state(spec, Rng(7));
  const auto draw = [&](const at::Tensor& like, const char* stream) {
    Rng rng = Rng(7).child(stream);
    return random_uniform(rng, like.sizes());
  };
  state.affine += draw(state.affine, "affine") - 0.5;
  state.running_mean += draw(state.running_mean, "mean") - 0.5;
  state.running_var += draw(state.running_var, "var");
  Normalisation normalisation;
  normalisation.mean.assign(static_cast<size_t>(channels), 0.5);
  normalisation.std.assign(static_cast<size_t>(channels), 0.25);
  return make_resnet(spec, state, normalisation);
}

inline at::Tensor make_images(int64_t count, int64_t height, int64_t width,
                              int64_t channels = 3) {
  Rng rng(3);
  return random_uniform(rng, {count, channels, height, width});
}

// Differences relative to the largest number.
inline void expect_close(const at::Tensor& found, const at::Tensor& expected,
                         double tolerance) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  const double scale = std::max(1e-3, expected.abs().max().item<double>());
  EXPECT_LE((found - expected).abs().max().item<double>(), tolerance * scale);
}

}  // namespace sotta::engine
