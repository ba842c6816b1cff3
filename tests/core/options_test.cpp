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
            "example: sharpness: expected true or false, got \"maybe\"");
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

TEST(Options, TrueAndFalseHaveThreeWordsEach) {
  for (const char* text : {"true", "on", "1"})
    EXPECT_EQ(parse_option("a", text, false), OptionValue(true)) << text;
  for (const char* text : {"false", "off", "0"})
    EXPECT_EQ(parse_option("a", text, true), OptionValue(false)) << text;
}

TEST(Options, TextThatIsNoValueNamesTheTypeAndItself) {
  const auto refused = [](const OptionValue& like, const std::string& text,
                          const std::string& type) {
    testing::expect_error(ErrorKind::kInvalid,
                          "a: expected " + type + ", got \"" + text + "\"",
                          [&] { parse_option("a", text, like); });
  };
  refused(false, "yes", "true or false");
  refused(false, "", "true or false");
  refused(int64_t{0}, "1.5", "a whole number");
  refused(int64_t{0}, "", "a whole number");
  refused(0.0, "1,5", "a number");
  refused(0.0, "1.5 ", "a number");
  EXPECT_EQ(parse_option("a", "", std::string()), OptionValue(std::string()));
  EXPECT_EQ(parse_option("a", "-3", int64_t{0}), OptionValue(int64_t{-3}));
}

TEST(Options, EveryOtherTypeIsRefusedByName) {
  EXPECT_EQ(message_of({{"memory_capacity", 1.5}}),
            "example: memory_capacity: expected a whole number, got 1.5");
  EXPECT_EQ(message_of({{"memory_capacity", 8.0}}),
            "example: memory_capacity: expected a whole number, got 8.0");
  EXPECT_EQ(message_of({{"memory_capacity", std::string("8")}}),
            "example: memory_capacity: expected a whole number, got \"8\"");
  EXPECT_EQ(message_of({{"min_confidence", true}}),
            "example: min_confidence: expected a number, got true");
  EXPECT_EQ(message_of({{"sharpness", int64_t{1}}}),
            "example: sharpness: expected true or false, got 1");
  EXPECT_EQ(message_of({{"memory", false}}),
            "example: memory: expected text, got false");
}

TEST(Options, ANameUnlikeAllOthersGetsTheListOfThem) {
  EXPECT_EQ(message_of({{"q", int64_t{1}}}),
            "example: unknown name \"q\", expected memory_capacity, "
            "min_confidence, sharpness, memory");
  testing::expect_error(ErrorKind::kInvalid, "a: unknown name \"q\"",
                        [] { fail_unknown_name("a", "q", {}); });
  try {
    fail_unknown_name("a", "q", {});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a: unknown name \"q\"");
  }
}

TEST(Options, FieldsHaveTheirValues) {
  const auto fields = option_fields(ExampleOptions());
  EXPECT_EQ(fields[0].value, OptionValue(int64_t{64}));
  EXPECT_EQ(fields[1].value, OptionValue(0.99));
  EXPECT_EQ(fields[2].value, OptionValue(true));
  EXPECT_EQ(fields[3].value, OptionValue(std::string("hus")));
}

TEST(Options, TextOfEveryTypeIsWhatOneWouldType) {
  EXPECT_EQ(to_text(true), "true");
  EXPECT_EQ(to_text(false), "false");
  EXPECT_EQ(to_text(int64_t{-12}), "-12");
  EXPECT_EQ(to_text(std::string("hus")), "hus");
  EXPECT_EQ(to_text(-1.7976931348623157e308), "-1.7976931348623157e+308");
}

}  // namespace
}  // namespace sotta
