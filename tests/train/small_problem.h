#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include "sotta/core/rng.h"
#include "sotta/data/dataset.h"

#include "models/resnet.h"
#include "nn/random_tensor.h"
#include "train/trainer.h"
#include "train/training_set.h"

namespace sotta::testing {

// Noisy grey images of which one half is brighter: class 0 the upper, class 1
// the lower, class 2 neither. A mirror image has the same class.
inline LabelledImages bright_halves(int64_t count, int64_t side = 8) {
  Rng rng(17);
  at::Tensor images = random_uniform(rng, {count, 1, side, side}) * 90;
  const at::Tensor labels = at::arange(count).remainder(3);
  for (int64_t half = 0; half < 2; ++half)
    images.narrow(2, half * (side / 2), side / 2)
        .add_(labels.eq(half).to(at::kFloat).view({-1, 1, 1, 1}) * 120);
  return {images.to(at::kByte), labels};
}

inline TrainingSet bright_halves_set(int64_t count, int64_t padding = 1) {
  const TensorDataset data(bright_halves(count), 3, "bright halves");
  return load_training_set(data, padding, at::kCPU);
}

// For those images; its first weights are drawn from the seed.
inline std::unique_ptr<Classifier> small_network(
    uint64_t seed = 1, const std::vector<int64_t>& widths = {4, 6}) {
  ResNetSpec spec;
  spec.widths = widths;
  spec.blocks = std::vector<int64_t>(widths.size(), 1);
  spec.channels = 1;
  spec.classes = 3;
  return make_resnet(spec, random_resnet_state(spec, Rng(seed)),
                     {{0.3}, {0.2}});
}

inline TrainOptions small_options() {
  TrainOptions options;
  options.epochs = 3;
  options.batch = 12;
  options.rate = 0.05;
  options.padding = 1;
  return options;
}

// All that is off by default switched on.
inline TrainOptions transformer_options() {
  TrainOptions options = small_options();
  options.epochs = 4;
  options.optimiser = "adamw";
  options.rate = 0.01;
  options.warm_up = 1;
  options.weight_decay = 0.05;
  options.label_smoothing = 0.1;
  options.erase = options.mixup = options.cutmix = 0.5;
  options.plain_epochs = 1;
  return options;
}

// Every number that training changes, as one vector.
inline at::Tensor all_numbers(const ModelState& state) {
  return at::cat(
      {state.body, state.affine, state.running_mean, state.running_var});
}

}  // namespace sotta::testing
