#include "sotta/core/options.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

struct ExampleOptions {
  int64_t memory_capacity = 64;
  double min_confidence = 0.99;
  bool sharpness = true;
  std::string memory = "hus";

  template <class Visitor>
  void visit(Visitor&& v) {
    v("memory_capacity", memory_capacity, "samples kept");
    v("min_confidence", min_confidence, "lowest confidence kept");
    v("sharpness", sharpness, "two-step update");
    v("memory", memory, "kind of memory");
  }
};

std::string message_of(const OptionMap& values) {
  ExampleOptions options;
  try {
    assign_options(options, values, "example");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, FieldsKeepTheirOrderAndHelp) {
  const auto fields = option_fields(ExampleOptions());
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_EQ(fields[0].name, "memory_capacity");
  EXPECT_EQ(fields[1].help, "lowest confidence kept");
}

TEST(Options, AssignSetsOnlyNamedFields) {
  ExampleOptions options;
  assign_options(options, {{"memory_capacity", int64_t{32}}}, "example");
  EXPECT_EQ(options.memory_capacity, 32);
  EXPECT_EQ(options.min_confidence, 0.99);
}

TEST(Options, WholeNumbersServeAsDoubles) {
  ExampleOptions options;
  assign_options(options, {{"min_confidence", int64_t{0}}}, "example");
  EXPECT_EQ(options.min_confidence, 0.0);
}

TEST(Options, UnknownNameSuggestsTheNearest) {
  EXPECT_EQ(message_of({{"memory_capacty", int64_t{1}}}),
            "example: unknown name \"memory_capacty\", did you mean "
            "\"memory_capacity\"?");
}

TEST(Options, WrongTypeNamesFieldExpectationAndFinding) {
  EXPECT_EQ(message_of({{"sharpness", std::string("maybe")}}),
            "example: sharpness: expected true or false, got maybe");
}

TEST(Options, MapAndBackIsTheSame) {
  ExampleOptions changed;
  changed.memory = "fifo";
  changed.min_confidence = 0.1;
  ExampleOptions copy;
  assign_options(copy, to_option_map(changed), "example");
  EXPECT_EQ(to_option_map(copy), to_option_map(changed));
}

TEST(Options, ParsesTextByTheTypeOfTheField) {
  EXPECT_EQ(parse_option("a", "12", int64_t{0}), OptionValue(int64_t{12}));
  EXPECT_EQ(parse_option("a", "1e-3", 0.0), OptionValue(1e-3));
  EXPECT_EQ(parse_option("a", "on", false), OptionValue(true));
  EXPECT_THROW(parse_option("a", "12x", int64_t{0}), Error);
  EXPECT_EQ(parse_option("a", "9223372036854775807", int64_t{0}),
            OptionValue(int64_t{9223372036854775807}));
  for (const OptionValue& like : {OptionValue(int64_t{0}), OptionValue(0.0)}) {
    const std::string huge = "9" + std::string(400, '0');
    testing::expect_error(ErrorKind::kInvalid,
                          "a: expected a number that fits 64 bits, got \"9000",
                          [&] { parse_option("a", huge, like); });
    EXPECT_THROW(parse_option("a", huge + "x", like), Error);
  }
  EXPECT_THROW(parse_option("a", "", 0.0), Error);
}

TEST(Options, OneOfSeveralNamesIsAskedFor) {
  EXPECT_NO_THROW(require_one_of("memory", "fifo", {"hus", "fifo"}));
  EXPECT_THROW(require_one_of("memory", "lifo", {"hus", "fifo"}), Error);
}

TEST(Options, TextOfADoubleIsShortAndExact) {
  EXPECT_EQ(to_text(0.99), "0.99");
  EXPECT_EQ(to_text(1e-3), "0.001");
}

}  // namespace
}  // namespace sotta
