#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(JpegCompression, MatchesThePublishedScript) {
  testing::expect_reference("jpeg_compression", 0, 0, testing::no_draws);
}

}  // namespace
}  // namespace sotta
