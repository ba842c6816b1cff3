#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(Brightness, MatchesThePublishedScript) {
  testing::expect_reference("brightness", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
