// Runs pieces of work that bench/engine_bench.py asks for on standard input, a
// letter a line, and answers with the seconds they took, by the clock and of
// processor time:
//   i  predictions for a window    t  a TENT window    s  a SoTTA window
//   m  instead: peak memory of the process in kB, and peaks of what LibTorch's
//      allocator gave out and held on the GPU in kB, 0 without one
// All cores that the process may use.
//   engine_worker libtorch | fused | cuda [SIMD target] [low-memory] [tuned]
//     [graphs] [network=resnet18] [classes=10] [images=64] [side=32]
//     [device=cpu] [precision=fp32]
#ifdef SOTTA_CUDA_HEADERS
#include <c10/cuda/CUDACachingAllocator.h>
#endif

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/engine/engine.h"
#include "sotta/gpu/device.h"

#include "bench/paired.h"
#include "bench/random_network.h"
#include "core/allocator.h"
#include "core/peak_memory.h"
#include "engine/cpu/simd_target.h"
#include "gpu/upload.h"

namespace {

using namespace sotta;  // a program of its own

struct Work {
  EngineOptions engine;
  DeviceSettings settings;
  ExecutorOptions executor;
  std::string network = "resnet18";
  int64_t classes = 10;
  int64_t images = 64;
  int64_t side = 32;
  at::Device device{at::kCPU};
};

void take_word(Work& work, const std::string& word) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value =
      equals == std::string::npos ? "" : word.substr(equals + 1);
  if (name == "low-memory")
    work.engine.low_memory = true;
  else if (name == "tuned")
    work.settings.tuned = true;
  else if (name == "graphs")
    work.executor.cuda_graphs = true;
  else if (name == "network")
    work.network = value;
  else if (name == "classes")
    work.classes = std::stoll(value);
  else if (name == "images")
    work.images = std::stoll(value);
  else if (name == "side")
    work.side = std::stoll(value);
  else if (name == "device")
    work.device = parse_device(value);
  else if (name == "precision")
    work.settings.precision = parse_precision(value);
  else
    engine::use_simd_target(word);
}

class Worker {
 public:
  explicit Worker(const Work& work)
      : images_(at::randint(256, {work.images, 3, work.side, work.side})
                    .to(at::kByte)),
        device_(work.device) {
    model_ = choose_engine(bench::random_network(work.network, work.classes,
                                                 work.device, work.settings),
                           work.engine);
    MethodContext context;
    context.model = model_;
    context.update_interval = work.images;
    context.executor = std::make_shared<Executor>(model_, work.executor);
    tent_ = make_adapter("tent", context);
    sotta_ = make_adapter(
        "sotta", context, Preset::kClean,
        {{"min_confidence", 0.0}, {"memory_capacity", work.images}});
  }

  std::string engine() const { return model_->engine(); }

  // From images on the host to predictions on the host and an update that the
  // device has done.
  void run(char piece) {
    if (piece == 'i') predict();
    if (piece == 't') adapt(*tent_);
    if (piece == 's') adapt(*sotta_);
    wait_for(device_);
  }

 private:
  void predict() {
    const at::NoGradGuard no_grad;
    model_->forward(upload(images_, device_), model_->source(),
                    NormStats::running());
  }

  void adapt(Adapter& adapter) {
    const StepResult result = adapter.step(upload(images_, device_));
    require(result.updates.size() == 1 && result.updates[0].applied,
            "engine_worker", "a window was not adapted on");
  }

  at::Tensor images_;
  at::Device device_;
  std::shared_ptr<const Classifier> model_;
  std::unique_ptr<Adapter> tent_, sotta_;
};

void print_memory([[maybe_unused]] at::Device device) {
  int64_t given = 0, held = 0;
#ifdef SOTTA_CUDA_HEADERS
  if (device.is_cuda()) {
    const auto stats =
        c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
    given = stats.allocated_bytes[0].peak;
    held = stats.reserved_bytes[0].peak;
  }
#endif
  const auto kilobytes = [](int64_t bytes) {
    return static_cast<long long>(bytes / 1024);
  };
  std::printf("%lld %lld %lld\n", kilobytes(peak_memory_bytes()),
              kilobytes(given), kilobytes(held));
}

void serve(const Work& work) {
  keep_freed_memory();
  at::set_num_threads(static_cast<int>(available_cores()));
  Worker worker(work);
  std::printf("ready %s, %d threads\n", worker.engine().c_str(),
              at::get_num_threads());
  for (std::string line; std::fflush(stdout), std::getline(std::cin, line);) {
    if (line == "m") {
      print_memory(work.device);
      continue;
    }
    const auto cost = bench::cost_of([&] { worker.run(line.at(0)); });
    std::printf("%.6f %.6f\n", cost.wall, cost.cpu);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  Work work;
  work.engine.name = argc > 1 ? argv[1] : "auto";
  for (int i = 2; i < argc; ++i)
    take_word(work, argv[i]);
  serve(work);
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 2;
}
