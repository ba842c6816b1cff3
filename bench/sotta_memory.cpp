// Runs SoTTA windows (ResNet18-CIFAR, 64 images) and prints the process's peak
// memory in kB; bench/compare_memory.sh runs PyTorch's beside it.
#include <cstdio>

#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <sys/resource.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/allocator.h"
#include "sotta/core/threads.h"
#include "sotta/models/resnet.h"

int main() {
  using namespace sotta;  // a program of its own
  keep_freed_memory();
  at::set_num_threads(static_cast<int>(available_cores()));
  const ResNetSpec spec = named_resnet("resnet18", 10);
  MethodContext context;
  context.model = make_resnet(spec, random_resnet_state(spec, Rng(0)),
                              {{0.49, 0.48, 0.45}, {0.25, 0.24, 0.26}});
  const auto adapter =
      make_adapter("sotta", context, Preset::kClean, {{"min_confidence", 0.0}});
  for (int i = 0; i < 5; ++i)
    adapter->step(at::randint(256, {64, 3, 32, 32}).to(at::kByte));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%ld\n", usage.ru_maxrss);
}
