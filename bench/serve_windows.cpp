// The in-process side of `serve_load.py windows`: a stream of the library with
// the server's defaults, everything selected, so that every update is a full
// one.
//   serve_windows MODEL THREADS
// Reads a number of windows per line, adapts to as many and says how many
// seconds that took.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/engine/open_model.h"

#include "core/stopwatch.h"

namespace sotta {
namespace {

constexpr int64_t kWindow = 64;
constexpr int64_t kSide = 28;
constexpr int64_t kBatches = 16;  // of images, over and over

void run(const std::string& file, int64_t threads) {
  at::set_num_threads(static_cast<int>(threads));
  MethodContext context;
  context.model = open_model(file);
  context.update_interval = kWindow;
  const auto adapter =
      make_adapter("sotta", context, Preset::kClean, {{"min_confidence", 0.0}});
  const at::Tensor images = at::randint(
      256, {kBatches, kWindow, context.model->channels(), kSide, kSide},
      at::kByte);
  int64_t at = 0;
  for (int64_t windows = 0; std::cin >> windows;) {
    const Stopwatch watch;
    for (int64_t i = 0; i < windows; ++i)
      adapter->step(images[at++ % kBatches]);
    std::printf("%.6f\n", watch.seconds());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sotta

int main(int argc, char** argv) {
  try {
    sotta::require(argc == 3, "serve_windows", "expected MODEL THREADS");
    sotta::run(argv[1], std::stoll(argv[2]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
