#include "engine/late_flag.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// How late it may be on a GPU: tests/gpu, by LAME.
TEST(LateFlag, OnACpuIsReadAtOnce) {
  at::Tensor flag = at::zeros({}, at::kBool);
  LateFlag late(/*iterations=*/100);
  EXPECT_FALSE(late.seen_set(flag));
  flag.fill_(true);
  EXPECT_TRUE(late.seen_set(flag));
}

}  // namespace
}  // namespace sotta
