#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "sotta/core/rng.h"

#include "models/resnet.h"
#include "models/wide_resnet.h"
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

// "wide": a wide residual network whose every stage begins with a shortcut's
// convolution, "wide_resnet10_1": one whose first does not.
inline WideResNetSpec wide_spec_of(const std::string& name, int64_t channels) {
  if (name == "wide") return {16, {32, 64, 96}, 2, channels, 10};
  return named_wide_resnet(name, 10, channels);
}

// A network whose norm layers all do something; LibTorch runs it.
inline std::unique_ptr<Classifier> make_model(
    const std::string& name, int64_t channels = 3,
    Precision precision = Precision::kFloat32) {
  const bool wide = name.rfind("wide", 0) == 0;
  const ResNetSpec spec = wide ? ResNetSpec() : spec_of(name, channels);
  const WideResNetSpec wide_spec =
      wide ? wide_spec_of(name, channels) : WideResNetSpec();
  ModelState state = wide ? WideResNetPlan(wide_spec).random_state(Rng(7))
                          : random_resnet_state(spec, Rng(7));
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
  DeviceSettings settings;
  settings.precision = precision;
  return wide ? make_wide_resnet(wide_spec, state, normalisation, settings)
              : make_resnet(spec, state, normalisation, settings);
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
