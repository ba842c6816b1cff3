#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(Pixelate, MatchesThePublishedScript) {
  testing::expect_reference("pixelate", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
