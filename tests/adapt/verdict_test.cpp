#include "sotta/adapt/verdict.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Verdict, EveryOneHasItsOwnWord) {
  std::set<std::string> words;
  for (int i = 0; i <= static_cast<int>(Verdict::kNotFinite); ++i)
    words.insert(to_text(static_cast<Verdict>(i)));
  EXPECT_EQ(words.size(), static_cast<size_t>(Verdict::kNotFinite) + 1);
  EXPECT_EQ(words.count("unknown"), 0u);
}

}  // namespace
}  // namespace sotta
