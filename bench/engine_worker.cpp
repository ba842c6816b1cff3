// Runs pieces of work that bench/engine_bench.py asks for on standard input, a
// letter a line, and answers with the seconds they took:
//   i  predictions for 64 images    t  a TENT window    s  a SoTTA window
//   m  peak memory in kB instead of seconds
// ResNet18-CIFAR, all cores.
//   engine_worker libtorch | fused [SIMD target] [low-memory]
#include <cstdio>
#include <iostream>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/threads.h"
#include "sotta/engine/engine.h"

#include "bench/paired.h"
#include "bench/random_network.h"
#include "core/allocator.h"
#include "core/peak_memory.h"
#include "engine/cpu/simd_target.h"

namespace {

using namespace sotta;  // a program of its own

class Worker {
 public:
  explicit Worker(const EngineOptions& options)
      : images_(at::randint(256, {64, 3, 32, 32}).to(at::kByte)) {
    model_ = choose_engine(bench::random_network("resnet18"), options);
    MethodContext context;
    context.model = model_;
    tent_ = make_adapter("tent", context);
    sotta_ = make_adapter("sotta", context, Preset::kClean,
                          {{"min_confidence", 0.0}});
  }

  void run(char piece) {
    if (piece == 'i') predict();
    if (piece == 't') tent_->step(images_);
    if (piece == 's') sotta_->step(images_);
  }

 private:
  void predict() {
    const at::NoGradGuard no_grad;
    model_->forward(images_, model_->source(), NormStats::running());
  }

  at::Tensor images_;
  std::shared_ptr<const Classifier> model_;
  std::unique_ptr<Adapter> tent_, sotta_;
};

}  // namespace

int main(int argc, char** argv) {
  EngineOptions options;
  options.name = argc > 1 ? argv[1] : "auto";
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "low-memory")
      options.low_memory = true;
    else
      engine::use_simd_target(word);
  }
  keep_freed_memory();
  at::set_num_threads(static_cast<int>(available_cores()));
  Worker worker(options);
  std::puts("ready");
  for (std::string line; std::fflush(stdout), std::getline(std::cin, line);) {
    if (line == "m") {
      std::printf("%lld 0\n",
                  static_cast<long long>(peak_memory_bytes() / 1024));
      continue;
    }
    const auto cost = bench::cost_of([&] { worker.run(line.at(0)); });
    std::printf("%.6f %.6f\n", cost.wall, cost.cpu);
  }
}
