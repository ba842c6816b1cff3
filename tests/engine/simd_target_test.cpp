#include "engine/cpu/simd_target.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta::engine {
namespace {

TEST(SimdTarget, EveryListedTargetCanBeUsed) {
  for (const auto& name : simd_targets()) {
    use_simd_target(name);
    EXPECT_EQ(simd_targets().front(), name);
  }
  use_best_simd_target();
}

#ifdef __aarch64__
TEST(SimdTarget, ArmHasNeon) {
  EXPECT_EQ(simd_targets(), std::vector<std::string>{"NEON"});
}
#endif

TEST(SimdTarget, OtherNamesAreRefused) {
  testing::expect_error(ErrorKind::kInvalid, "abacus",
                        [] { use_simd_target("abacus"); });
}

}  // namespace
}  // namespace sotta::engine
