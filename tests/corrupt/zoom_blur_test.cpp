#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(ZoomBlur, MatchesThePublishedScript) {
  testing::expect_reference("zoom_blur", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
