#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(DefocusBlur, MatchesThePublishedScript) {
  testing::expect_reference("defocus_blur", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
