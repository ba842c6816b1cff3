#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(GaussianBlur, MatchesThePublishedScript) {
  testing::expect_reference("gaussian_blur", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
