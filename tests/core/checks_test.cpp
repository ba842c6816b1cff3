#include "core/checks.h"

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

TEST(Checks, BothEndsOfARangeBelongToIt) {
  const auto refused = [](const std::string& message, auto action) {
    testing::expect_error(ErrorKind::kInvalid, message, action);
  };
  EXPECT_NO_THROW(require_within("count", int64_t{2}, 1, 2));
  refused("count: expected 1 to 2, got 3",
          [] { require_within("count", int64_t{3}, 1, 2); });
  refused("count: expected 1 to 2, got 0",
          [] { require_within("count", int64_t{0}, 1, 2); });
  refused("share: expected 0.5 to 1, got 0.25",
          [] { require_within("share", 0.25, 0.5, 1); });
  refused("count: expected at least 3, got 2",
          [] { require_at_least("count", 2, 3); });
  EXPECT_NO_THROW(require_at_least("count", 3, 3));
  EXPECT_NO_THROW(require_positive("rate", 1e-300));
  refused("rate: expected a number above 0, got 0",
          [] { require_positive("rate", 0); });
  refused("decay: expected a number of at least 0, got -1",
          [] { require_not_negative("decay", -1); });
  refused("decay: expected a number of at least 0, got inf",
          [] { require_not_negative("decay", INFINITY); });
  refused("decay: expected a number of at least 0, got nan",
          [] { require_not_negative("decay", std::nan("")); });
}

}  // namespace
}  // namespace sotta
