// Runs SoTTA windows (ResNet18-CIFAR, 64 images) and prints the process's peak
// memory in kB; bench/compare_memory.sh runs PyTorch's beside it.
#include <cstdio>

#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/threads.h"

#include "bench/random_network.h"
#include "core/allocator.h"
#include "core/peak_memory.h"

int main() {
  using namespace sotta;  // a program of its own
  keep_freed_memory();
  at::set_num_threads(static_cast<int>(available_cores()));
  MethodContext context;
  context.model = bench::random_network("resnet18");
  const auto adapter =
      make_adapter("sotta", context, Preset::kClean, {{"min_confidence", 0.0}});
  for (int i = 0; i < 5; ++i)
    adapter->step(at::randint(256, {64, 3, 32, 32}).to(at::kByte));
  std::printf("%lld\n", static_cast<long long>(peak_memory_bytes() / 1024));
}
