#include "gpu/upload.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Upload, GivesTheSameNumbers) {
  const at::Tensor host = at::arange(6).view({2, 3});
  const at::Tensor there = upload(host, at::kCPU);
  EXPECT_TRUE(there.equal(host));
  EXPECT_EQ(there.scalar_type(), host.scalar_type());
}

}  // namespace
}  // namespace sotta
