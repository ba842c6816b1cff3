#include "data/torch/bounded_json.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

const std::string kSubject = "file";

void expect_damaged(const std::string& text, const std::string& why) {
  testing::expect_error(ErrorKind::kBadFormat, why,
                        [&] { parse_bounded_json(text, kSubject); });
}

TEST(BoundedJson, WhatIsNoJsonIsNamed) {
  expect_damaged("", "file: expected JSON in UTF-8");
  expect_damaged("{\"a\":", "file: expected JSON in UTF-8");
  expect_damaged("\"\xff\"", "file: expected JSON in UTF-8");
  expect_damaged("[Infinity]", "file: expected JSON in UTF-8");
}

TEST(BoundedJson, DepthAndSizeAreBounded) {
  expect_damaged(std::string(1 << 20, '['), "nested at most 64 deep");
  std::string many = "[0";
  for (int i = 0; i < (1 << 22); ++i)
    many += ",0";
  expect_damaged(many + "]", "at most 4194304 values");
  EXPECT_NO_THROW(parse_bounded_json(
      std::string(64, '[') + std::string(64, ']'), kSubject));
}

class JsonPlaces : public ::testing::Test {
 protected:
  const nlohmann::json json = parse_bounded_json(
      R"({"text": "a", "number": 3, "real": 0.5, "most": "Infinity",
          "least": "-Infinity", "none": "NaN", "yes": true, "list": [1, 2],
          "null": null, "huge": 18446744073709551615, "union": {"as_int": 4}})",
      kSubject);
  const JsonPlace place{json, kSubject};

  template <class Read>
  void expect_error(const std::string& why, Read read) {
    testing::expect_error(ErrorKind::kBadFormat, why, read);
  }
};

TEST_F(JsonPlaces, HoldValues) {
  EXPECT_EQ(place.at("text").text(), "a");
  EXPECT_EQ(place.at("number").integer(), 3);
  EXPECT_EQ(place.at("number").real(), 3);
  EXPECT_EQ(place.at("real").real(), .5);
  EXPECT_EQ(place.at("most").real(), INFINITY);
  EXPECT_EQ(place.at("least").real(), -INFINITY);
  EXPECT_TRUE(std::isnan(place.at("none").real()));
  EXPECT_TRUE(place.at("yes").boolean());
  EXPECT_FALSE(place.has("null"));
  EXPECT_EQ(place.at("union").choice().first, "as_int");
  EXPECT_EQ(place.at("union").choice().second.integer(), 4);
  int64_t sum = 0;
  place.at("list").each([&](const JsonPlace& item) { sum += item.integer(); });
  EXPECT_EQ(sum, 3);
  size_t entries = 0;
  place.each_entry([&](const std::string&, const JsonPlace&) { ++entries; });
  EXPECT_EQ(entries, 11u);
}

TEST_F(JsonPlaces, SayWhatWasExpected) {
  expect_error("file: expected an entry \"other\"", [&] { place.at("other"); });
  expect_error("expected an object, got \"3\"",
               [&] { place.at("number").at("x"); });
  expect_error("expected text", [&] { place.at("number").text(); });
  expect_error("expected a whole number", [&] { place.at("real").integer(); });
  expect_error("expected a whole number", [&] { place.at("huge").integer(); });
  expect_error("expected a number", [&] { place.at("text").real(); });
  expect_error("expected true or false", [&] { place.at("text").boolean(); });
  expect_error("expected a list", [&] { place.at("text").each({}); });
  expect_error("expected an object", [&] { place.at("list").each_entry({}); });
  expect_error("expected an object with one entry", [&] { place.choice(); });
}

}  // namespace
}  // namespace sotta
