#pragma once

#include <ATen/Context.h>
#include <c10/core/Device.h>
#include <gtest/gtest.h>

namespace sotta::testing {

// The tests of this folder compare a GPU with the CPU; where there is none they
// are skipped, and said to be. What belongs to no model computes in fp32.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);
  }

  const at::Device gpu{at::kCUDA, 0};
};

}  // namespace sotta::testing
