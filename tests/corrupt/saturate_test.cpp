#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(Saturate, MatchesThePublishedScript) {
  testing::expect_reference("saturate", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
