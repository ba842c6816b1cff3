// Many runs side by side on one device for as long as one likes:
//
//   sotta_stress_jobs DEVICE PRECISION graphs|plain|lanes JOBS CAPTURES RUNS
//   sotta_stress_jobs cuda tf32 graphs 14 3000 0   # until 3,000 graphs
//   sotta_stress_jobs cuda tf32 plain 14 0 2000    # until 2,000 runs
//   sotta_stress_jobs cuda tf32 lanes 14 0 2000    # the same, in lanes
//
// Exits with 1 if a run gave other logits than it gives alone.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sotta/core/error.h"
#include "sotta/gpu/device.h"

#include "tests/stress/jobs_on_one_device.h"

int main(int argc, char** argv) try {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: %s DEVICE PRECISION graphs|plain|lanes JOBS CAPTURES "
                 "RUNS\n",
                 argv[0]);
    return 2;
  }
  sotta::testing::JobsOptions options;
  options.device = sotta::parse_device(argv[1]);
  options.precision = sotta::parse_precision(argv[2]);
  options.cuda_graphs = argv[3] == std::string("graphs");
  options.in_lanes = argv[3] == std::string("lanes");
  options.jobs = std::atoll(argv[4]);
  options.captures = std::atoll(argv[5]);
  options.runs = std::atoll(argv[6]);
  if (options.device.is_cpu()) {
    options.network = "resnet8";
    options.window = 4;
  }
  const auto outcome = sotta::testing::run_jobs(options);
  std::printf("%lld runs, %lld windows, %lld captures, %lld wrong\n",
              static_cast<long long>(outcome.runs),
              static_cast<long long>(outcome.windows),
              static_cast<long long>(outcome.captures),
              static_cast<long long>(outcome.wrong));
  return outcome.wrong == 0 ? 0 : 1;
} catch (const sotta::Error& error) {
  std::fprintf(stderr, "sotta_stress_jobs: %s\n", error.what());
  return 2;
}
