#include <gtest/gtest.h>

#include "tests/gpu/on_gpu.h"
#include "tests/stress/jobs_on_one_device.h"

namespace sotta {
namespace {

using GpuJobs = testing::OnGpu;

// sotta_stress_jobs does it for as long as one likes.
TEST_F(GpuJobs, CaptureGraphsBesideEachOthersWork) {
  testing::JobsOptions options;
  options.device = gpu;
  options.precision = Precision::kTf32;
  options.jobs = 8;
  options.captures = 60;
  const testing::JobsOutcome outcome = run_jobs(options);
  EXPECT_GE(outcome.captures, 60);
  EXPECT_EQ(outcome.wrong, 0);
}

TEST_F(GpuJobs, RunSideBySideWithoutGraphs) {
  testing::JobsOptions options;
  options.device = gpu;
  options.precision = Precision::kTf32;
  options.cuda_graphs = false;
  options.jobs = 8;
  options.runs = 40;
  const testing::JobsOutcome outcome = run_jobs(options);
  EXPECT_GE(outcome.runs, 40);
  EXPECT_EQ(outcome.captures, 0);
  EXPECT_EQ(outcome.wrong, 0);
}

TEST_F(GpuJobs, JoinAndLeaveLanesAtAnyTime) {
  testing::JobsOptions options;
  options.device = gpu;
  options.precision = Precision::kTf32;
  options.cuda_graphs = false;
  options.in_lanes = true;
  options.jobs = 8;
  options.runs = 80;
  const testing::JobsOutcome outcome = run_jobs(options);
  EXPECT_GE(outcome.runs, 80);
  EXPECT_EQ(outcome.wrong, 0);
}

}  // namespace
}  // namespace sotta
