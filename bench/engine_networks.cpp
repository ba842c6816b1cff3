// Predictions and adapting passes of networks beside ResNet18-CIFAR, by the
// fused engine and by LibTorch in turn; `ratio` is the median of the paired
// ratios, LibTorch's time over the fused engine's. The difference of gradients
// that it prints is one that LibTorch has too, beside itself, if these random
// networks' norm layers change in the last bit: ReLUs switch.
//   engine_networks [ROUNDS [NETWORK [IMAGES]]]
#include <cstdio>
#include <cstdlib>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>

#include "sotta/core/threads.h"
#include "sotta/engine/engine.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "bench/paired.h"
#include "bench/random_network.h"
#include "core/allocator.h"

namespace {

using namespace sotta;  // a program of its own

std::unique_ptr<Classifier> make(const std::string& name,
                                 const std::string& engine) {
  EngineOptions options;
  options.name = engine;
  return choose_engine(bench::random_network(name), options);
}

at::Tensor predict(const Classifier& model, const at::Tensor& images) {
  const at::NoGradGuard no_grad;
  return model.forward(images, model.source(), NormStats::running()).logits;
}

// Forward with the batch's statistics, and back to the norm layers: the
// gradient of their parameters.
at::Tensor adapt(const Classifier& model, const at::Tensor& images) {
  ModelState state = model.source();
  state.affine = as_leaf(state.affine);
  const auto result = model.forward(images, state, NormStats::batch());
  return gradient_of(entropy(result.logits).mean(), state.affine);
}

// The largest, relative to the largest number.
double difference(const at::Tensor& found, const at::Tensor& expected) {
  return (found - expected).abs().max().item<double>() /
         expected.abs().max().item<double>();
}

void compare(const std::string& name, int64_t count, int64_t side,
             int64_t rounds) {
  const auto libtorch = make(name, "libtorch"), fused = make(name, "fused");
  const at::Tensor images =
      at::randint(256, {count, 3, side, side}).to(at::kByte);
  const double logits =
      difference(predict(*fused, images), predict(*libtorch, images));
  const double gradients =
      difference(adapt(*fused, images), adapt(*libtorch, images));

  bench::Paired predictions, passes;
  for (int64_t i = 0; i < rounds; ++i) {
    predictions.run([&] { predict(*libtorch, images); },
                    [&] { predict(*fused, images); });
    passes.run([&] { adapt(*libtorch, images); },
               [&] { adapt(*fused, images); });
  }
  const auto print = [&](const char* what, const bench::Paired& times) {
    std::printf(
        "%-18s %2d x %3d px  %-10s libtorch %7.1f ms  fused %7.1f ms"
        "  ratio %.2f  by processor time %.2f\n",
        name.c_str(), static_cast<int>(count), static_cast<int>(side), what,
        times.first_ms(), times.second_ms(), times.ratio(), times.cpu_ratio());
  };
  print("predicting", predictions);
  print("adapting", passes);
  std::printf(
      "%-18s largest difference, relative: of logits %.1e, of gradients %.1e\n",
      name.c_str(), logits, gradients);
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  at::set_num_threads(static_cast<int>(available_cores()));
  const int64_t rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  if (argc > 2) {
    const std::string name = argv[2];
    const bool imagenet = name.find("imagenet") != std::string::npos;
    compare(name, argc > 3 ? std::atoi(argv[3]) : 8, imagenet ? 224 : 32,
            rounds);
    return 0;
  }
  compare("resnet50", 8, 32, rounds);
  compare("resnet18-imagenet", 8, 224, rounds);
  compare("resnet50-imagenet", 8, 224, rounds);
  compare("wide_resnet40_2", 8, 32, rounds);
  compare("wide_resnet28_10", 8, 32, rounds);
}
