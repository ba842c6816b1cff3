#include "gpu/tuned_convolutions.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(TunedConvolutions, LastAsLongAsOneLives) {
  const bool before = at::globalContext().benchmarkCuDNN();
  const int limit = at::globalContext().benchmarkLimitCuDNN();
  {
    const TunedConvolutions tuned;
    EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
    EXPECT_GT(at::globalContext().benchmarkLimitCuDNN(), 0);
  }
  EXPECT_EQ(at::globalContext().benchmarkCuDNN(), before);
  EXPECT_EQ(at::globalContext().benchmarkLimitCuDNN(), limit);
}

}  // namespace
}  // namespace sotta
