#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "sotta/gpu/device.h"

namespace sotta::testing {

struct JobsOptions {
  at::Device device = at::Device(at::kCPU);
  Precision precision = Precision::kFloat32;
  bool cuda_graphs = true;
  int64_t jobs = 14;     // threads, each with runs of its own
  int64_t captures = 0;  // go on until so many graphs were captured,
  int64_t runs = 0;      // and so many runs have ended
  std::string network = "resnet18";
  int64_t window = 64;

  // The threads are lanes of one group, which they join for each run and leave
  // after it, wherever the others are. Nothing is captured then.
  bool in_lanes = false;
};

struct JobsOutcome {
  int64_t runs = 0;
  int64_t windows = 0;
  int64_t captures = 0;
  // Runs whose last logits differ from those of the same run alone by more than
  // rounding explains.
  int64_t wrong = 0;
};

// Runs of all methods side by side on one device, in threads as the benchmark
// has them: a new adapter for every run, a few windows of images of 32 x 32
// pixels, networks of 10 and of 100 classes. Half of a run's windows come after
// its CUDA graphs were captured.
JobsOutcome run_jobs(const JobsOptions& options);

}  // namespace sotta::testing
