#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(Contrast, MatchesThePublishedScript) {
  testing::expect_reference("contrast", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
