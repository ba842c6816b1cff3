#include "gpu/device_queue.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(DeviceQueue, IsNothingOnTheCpu) {
  const OwnQueue queue(at::kCPU);
  const at::Tensor sum = at::ones({3}).sum();
  EXPECT_EQ(sum.item<double>(), 3);
}

TEST(SharedDevice, LastsAsLongAsOneLives) {
  EXPECT_FALSE(SharedDevice::now());
  {
    const SharedDevice several(true);
    EXPECT_TRUE(SharedDevice::now());
    {
      const SharedDevice one(false);
      EXPECT_TRUE(SharedDevice::now());
    }
    EXPECT_TRUE(SharedDevice::now());
  }
  EXPECT_FALSE(SharedDevice::now());
}

}  // namespace
}  // namespace sotta
