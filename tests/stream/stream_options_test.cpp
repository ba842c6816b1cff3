#include "sotta/stream/stream_options.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sotta/core/options.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

void expect_invalid(const OptionMap& values, const std::string& part) {
  StreamOptions options;
  assign_options(options, values, "stream");
  expect_error(ErrorKind::kInvalid, part, [&] { validate(options); });
}

TEST(StreamOptions, DefaultsAreValid) {
  EXPECT_NO_THROW(validate(StreamOptions{}));
}

TEST(StreamOptions, FieldsOutOfRangeAreNamed) {
  expect_invalid({{"scenario", "noisy"}}, "scenario: ");
  expect_invalid({{"foreign_count", int64_t{-2}}}, "foreign_count: ");
  expect_invalid({{"foreign_share", 1.0}}, "foreign_share: ");
  expect_invalid({{"foreign_share", std::nan("")}}, "foreign_share: ");
  expect_invalid({{"burst", int64_t{-1}}}, "burst: ");
  expect_invalid({{"limit", int64_t{-1}}}, "limit: ");
  expect_invalid({{"order", "sorted"}}, "order: ");
  expect_invalid({{"concentration", 0.0}}, "concentration: ");
  expect_invalid({{"domains", "mixture"}}, "domains: ");
  expect_invalid({{"window", int64_t{0}}}, "window: ");
  expect_invalid({{"read_ahead", int64_t{-1}}}, "read_ahead: ");
}

TEST(StreamOptions, RefusesTwoAnswersToOneQuestion) {
  expect_invalid({{"foreign_share", 0.5}, {"foreign_count", int64_t{10}}},
                 "got both");
  expect_invalid({{"scenario", "noise"}, {"foreign", "mnist"}},
                 "not with noise");
}

}  // namespace
}  // namespace sotta
