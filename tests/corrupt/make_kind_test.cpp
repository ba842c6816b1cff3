#include <gtest/gtest.h>

#include "sotta/corrupt/corruption.h"

#include "corrupt/kinds/kind.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(MakeKind, KnowsEveryName) {
  for (const std::string& name : corruption_names())
    EXPECT_NE(make_kind(name, {}), nullptr) << name;
}

TEST(MakeKind, HasNineteenKindsOfWhichFifteenAreTheCommonOnes) {
  EXPECT_EQ(corruption_names().size(), 19u);
  const auto common = common_corruption_names();
  EXPECT_EQ(common.size(), 15u);
  EXPECT_EQ(common.front(), "gaussian_noise");
  EXPECT_EQ(common.back(), "jpeg_compression");
}

TEST(MakeKind, IsRefusedIfItsNameIsTakenOrNothingMakesIt) {
  testing::expect_error(ErrorKind::kInvalid, "\"fog\" is there already", [] {
    register_corruption({"fog", "Fog", make_fog});
  });
  testing::expect_error(ErrorKind::kInvalid, "corruption rust: expected", [] {
    register_corruption({"rust", "Rust", nullptr});
  });
}

TEST(MakeKind, FrostAloneTakesPhotographs) {
  for (const std::string& name : common_corruption_names())
    EXPECT_EQ(takes_photographs(name), name == "frost") << name;
  EXPECT_FALSE(takes_photographs("clean"));
  EXPECT_FALSE(takes_photographs(""));
}

TEST(MakeKind, NamesTheNearestKind) {
  testing::expect_error(ErrorKind::kInvalid, "gaussian_noise",
                        [] { make_kind("gausian_noise", {}); });
}

}  // namespace
}  // namespace sotta
