#include "serve/streams/checksum.h"

#include <set>

#include <gtest/gtest.h>

namespace sotta {
namespace {

std::string sum_of(std::initializer_list<std::string_view> pieces) {
  Checksum sum;
  for (const std::string_view piece : pieces)
    sum.update(piece.data(), piece.size());
  return sum.text();
}

// Computed by a second implementation, in Python.
TEST(Checksum, IsTheSameOnEveryMachine) {
  EXPECT_EQ(sum_of({"sotta stream", "", "12345678"}), "a57fdaa7e396180c");
}

TEST(Checksum, DependsOnEveryBitLengthsAndPieces) {
  const std::string text = "twenty-one characters";
  std::set<std::string> sums = {sum_of({text})};
  for (size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      sums.insert(sum_of({other}));
    }
  sums.insert(sum_of({text + std::string(1, '\0')}));
  sums.insert(sum_of({"twenty", "-one characters"}));
  sums.insert(sum_of({text, ""}));

  EXPECT_EQ(sums.size(), 1 + 8 * text.size() + 3);
}

}  // namespace
}  // namespace sotta
