// How far the fused engine's numbers lie from LibTorch's with a trained network
// and the first images of CIFAR-10's test set, 64 at a time: logits by their
// largest difference, relative to the largest, gradients of the norm layers'
// parameters by the root mean square, relative to theirs.
//   engine_difference MODEL DATA
#include <cstdio>
#include <exception>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>

#include "sotta/core/threads.h"
#include "sotta/data/dataset.h"
#include "sotta/engine/engine.h"
#include "sotta/models/weights.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "data/sets/catalog.h"

namespace {

using namespace sotta;  // a program of its own

constexpr int64_t kImages = 64, kWindows = 4;

std::unique_ptr<Classifier> load(const char* file, const std::string& engine) {
  const DatasetEntry& entry = find_dataset("cifar10");
  LoadOptions options;
  options.default_normalisation = Normalisation{entry.mean, entry.std};
  EngineOptions chosen;
  chosen.name = engine;
  return choose_engine(load_classifier(file, options), chosen);
}

struct Pass {
  at::Tensor logits, gradient;
};

Pass run(const Classifier& model, const at::Tensor& images, NormStats stats) {
  ModelState state = model.source();
  state.affine = as_leaf(state.affine);
  const at::Tensor logits = model.forward(images, state, stats).logits;
  return {logits.detach(), gradient_of(entropy(logits).mean(), state.affine)};
}

void show(const char* stats, const Pass& found, const Pass& expected) {
  const auto largest = (found.logits - expected.logits).abs().max();
  const auto off = (found.gradient - expected.gradient).norm();
  std::printf("%-8s logits %.1e  gradients %.1e\n", stats,
              (largest / expected.logits.abs().max()).item<double>(),
              (off / expected.gradient.norm()).item<double>());
}

void compare(const char* model, const char* data) {
  const auto libtorch = load(model, "libtorch"), fused = load(model, "fused");
  const auto dataset = open_dataset("cifar10", data);
  for (int64_t i = 0; i < kWindows; ++i) {
    const at::Tensor images =
        dataset->range(i * kImages, (i + 1) * kImages).images;
    show("running", run(*fused, images, NormStats::running()),
         run(*libtorch, images, NormStats::running()));
    show("batch", run(*fused, images, NormStats::batch()),
         run(*libtorch, images, NormStats::batch()));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  at::set_num_threads(static_cast<int>(available_cores()));
  if (argc != 3) {
    std::fprintf(stderr, "usage: engine_difference MODEL DATA\n");
    return 2;
  }
  compare(argv[1], argv[2]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "engine_difference: %s\n", error.what());
  return 2;
}
