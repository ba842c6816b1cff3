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

TEST(StreamOptions, TheirBoundsAreAllowed) {
  const auto expect_valid = [](const OptionMap& values) {
    StreamOptions options;
    assign_options(options, values, "stream");
    EXPECT_NO_THROW(validate(options));
  };
  expect_valid({{"foreign_count", int64_t{-1}}});
  expect_valid({{"foreign_count", int64_t{0}}});
  expect_valid({{"foreign_share", 0.999}});
  expect_valid({{"burst", int64_t{0}}, {"limit", int64_t{0}}});
  expect_valid({{"concentration", 1e6}});
  expect_valid({{"window", int64_t{1}}, {"read_ahead", int64_t{0}}});
  expect_valid({{"scenario", "near"}, {"foreign", "mnist"}});
  expect_valid({{"scenario", "far"}, {"foreign", "mnist"}});
  expect_invalid({{"concentration", 1.1e6}}, "concentration: ");
  expect_invalid({{"foreign_share", -0.1}}, "foreign_share: ");
}

TEST(StreamOptions, DefaultsArePinned) {
  std::string text;
  for (const auto& field : option_fields(StreamOptions{}))
    text += field.name + "=" + to_text(field.value) + " ";
  EXPECT_EQ(text,
            "scenario=benign foreign= foreign_count=-1 foreign_share=0 burst=0 "
            "limit=0 order=shuffled concentration=0.1 corruptions= severity=5 "
            "corruption_seed=0 frost_dir= domains=continual window=64 "
            "whole_windows=false seed=0 read_ahead=256 ");
}

TEST(StreamOptions, RefusesTwoAnswersToOneQuestion) {
  expect_invalid({{"foreign_share", 0.5}, {"foreign_count", int64_t{10}}},
                 "got both");
  expect_invalid({{"scenario", "noise"}, {"foreign", "mnist"}},
                 "not with noise");
}

TEST(StreamOptions, WhatWasGivenIsPartOfTheMessage) {
  expect_invalid({{"foreign_share", 1.25}},
                 "foreign_share: expected 0 to below 1, got 1.25");
  expect_invalid({{"concentration", -2.5}},
                 "concentration: expected above 0 to 1e6, got -2.5");
  expect_invalid({{"scenario", "attack"}, {"foreign", "mnist"}},
                 "foreign: a foreign set goes with a scenario that takes a "
                 "dataset, not with attack");
  expect_invalid({{"foreign_share", 0.5}, {"foreign_count", int64_t{0}}},
                 "foreign_share: expected either this or foreign_count");
}

}  // namespace
}  // namespace sotta
