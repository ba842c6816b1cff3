#include "core/registry.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

struct Fruit {
  std::string name;
  std::string label;
};

TEST(Registry, FindsWhatItHoldsInTheOrderItCame) {
  Registry<Fruit> fruits("fruit", {{"apple", "An apple"}, {"pear", ""}});
  fruits.add({"dried_fig-2", "A fig"});
  EXPECT_EQ(fruits.names(),
            (std::vector<std::string>{"apple", "pear", "dried_fig-2"}));
  EXPECT_EQ(fruits.find("apple").label, "An apple");
  EXPECT_EQ(fruits.find("dried_fig-2").label, "A fig");
}

TEST(Registry, ANameIsItsOwnLabel) {
  const Registry<Fruit> fruits("fruit", {{"pear", ""}});
  EXPECT_EQ(fruits.find("pear").label, "pear");
}

TEST(Registry, WhatWasFoundStaysWhereItIs) {
  Registry<Fruit> fruits("fruit", {{"apple", "An apple"}});
  const Fruit* apple = &fruits.find("apple");
  for (int i = 0; i < 1000; ++i)
    fruits.add({"fruit" + std::to_string(i), ""});
  EXPECT_EQ(apple, &fruits.find("apple"));
  EXPECT_EQ(apple->label, "An apple");
}

TEST(Registry, RefusesANameTwice) {
  Registry<Fruit> fruits("fruit", {{"apple", ""}});
  expect_error(ErrorKind::kInvalid, "fruit: \"apple\" is there already", [&] {
    fruits.add({"apple", "Another"});
  });
  EXPECT_EQ(fruits.names().size(), 1u);
}

TEST(Registry, RefusesWhatIsNoName) {
  Registry<Fruit> fruits("fruit", {});
  for (const char* name : {"", "all", "none", "Apple", "a b", "a,b", "a=b"})
    expect_error(ErrorKind::kInvalid, "expected a name of small letters", [&] {
      fruits.add({name, ""});
    });
  EXPECT_TRUE(fruits.names().empty());
}

TEST(Registry, NamesTheNearestToAnUnknownOne) {
  const Registry<Fruit> fruits("fruit", {{"apple", ""}, {"pear", ""}});
  expect_error(ErrorKind::kInvalid, "did you mean \"pear\"",
               [&] { fruits.find("peer"); });
}

}  // namespace
}  // namespace sotta
