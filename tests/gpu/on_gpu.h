#pragma once

#include <ATen/Context.h>
#include <c10/core/Device.h>
#include <gtest/gtest.h>

#include "sotta/gpu/precision.h"

namespace sotta::testing {

// The tests of this folder compare a GPU with the CPU; where there is none they
// are skipped, and said to be.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
    use_precision(Precision::kFloat32, gpu);
  }

  const at::Device gpu{at::kCUDA, 0};
};

}  // namespace sotta::testing
