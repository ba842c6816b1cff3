#include "sotta/core/checks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(Checks, ValuesAtTheEdgePass) {
  require_within("share", 0.0, 0, 1);
  require_within("share", 1.0, 0, 1);
  require_within("count", int64_t{1}, 1, 2);
  require_at_least("count", 1, 1);
  require_not_negative("decay", 0);
}

TEST(Checks, MessagesNameOptionExpectationAndFinding) {
  testing::expect_error(ErrorKind::kInvalid, "share: expected 0 to 1, got 1.5",
                        [] { require_within("share", 1.5, 0, 1); });
  testing::expect_error(ErrorKind::kInvalid,
                        "count: expected at least 1, got -2",
                        [] { require_at_least("count", -2, 1); });
}

TEST(Checks, EverythingElseIsRefused) {
  EXPECT_THROW(require_within("share", std::nan(""), 0, 1), Error);
  EXPECT_THROW(require_within("count", int64_t{0}, 1, 2), Error);
  EXPECT_THROW(require_at_least("count", 0, 1), Error);
  EXPECT_THROW(require_positive("rate", 0), Error);
  EXPECT_THROW(require_positive("rate", std::nan("")), Error);
  EXPECT_THROW(require_positive("rate", INFINITY), Error);
  EXPECT_THROW(require_not_negative("decay", -1e-9), Error);
}

}  // namespace
}  // namespace sotta
