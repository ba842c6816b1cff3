#include "serve/protocol/json_input.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/serve/expect_refusal.h"

namespace sotta {
namespace {

using testing::expect_refusal;

TEST(JsonInput, DepthCountsObjectsAndLists) {
  EXPECT_NO_THROW(parse_client_json(R"({"a":[1]})", 2));
  expect_refusal(HttpStatus::kBadRequest, "at most 2 deep",
                 [] { parse_client_json(R"({"a":[{}]})", 2); });
}

TEST(JsonInput, TextThatIsNoJsonIsNotQuoted) {
  for (const std::string text : {"", "{", "<script>", "{\"a\":\"\xff\"}"})
    expect_refusal(HttpStatus::kBadRequest, "request: expected JSON",
                   [&] { parse_client_json(text, 8); });
}

// In linear time; this test would not end otherwise.
TEST(JsonInput, ManySmallValuesAreRead) {
  std::string text = "[{}";
  for (int i = 0; i < 1'000'000; ++i)
    text += ",{}";

  EXPECT_EQ(parse_client_json(text + "]", 8).size(), 1'000'001u);
}

TEST(JsonInput, AKeyThatIsThereTwiceIsRefused) {
  EXPECT_NO_THROW(parse_client_json(R"([{"a":{"a":1}},{"a":1,"b":2}])", 8));
  for (const std::string text :
       {R"({"a":1,"a":1})", R"([{"b":{},"a":[],"b":3}])"})
    expect_refusal(HttpStatus::kBadRequest, "each key of an object once",
                   [&] { parse_client_json(text, 8); });
}

TEST(JsonInput, IntegersAreWithinTheirRange) {
  const Json object = {{"a", 5}, {"b", 5.0}, {"c", ~uint64_t{0}}};

  EXPECT_EQ(read_integer(object, "a", 0, 5, 1), 5);
  EXPECT_EQ(read_integer(object, "none", 0, 5, 1), 1);
  expect_refusal(HttpStatus::kBadRequest, "a: expected a whole number from 0",
                 [&] { read_integer(object, "a", 0, 4, 1); });
  expect_refusal(HttpStatus::kBadRequest, "b: expected",
                 [&] { read_integer(object, "b", 0, 9, 1); });
  expect_refusal(HttpStatus::kBadRequest, "c: expected",
                 [&] { read_integer(object, "c", 0, 9, 1); });
}

TEST(JsonInput, OtherKeysAreRefused) {
  const Json object = {{"to", 5}};

  EXPECT_NO_THROW(check_keys(object, "rollback", {"to"}));
  expect_refusal(HttpStatus::kBadRequest, "rollback: unknown name \"to\"",
                 [&] { check_keys(object, "rollback", {"too"}); });
  expect_refusal(HttpStatus::kBadRequest, "rollback: expected a JSON object",
                 [&] { check_keys(object["to"], "rollback", {"to"}); });
}

}  // namespace
}  // namespace sotta
