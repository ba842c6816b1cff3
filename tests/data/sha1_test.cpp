#include "data/formats/sha1.h"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

namespace sotta {
namespace {

std::string sha1(std::string_view text) {
  Sha1 sum;
  sum.update(text.data(), text.size());
  return sum.finish();
}

// The examples of FIPS 180 and their lengths around a block's end.
TEST(Sha1, GivesThePublishedTestVectors) {
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

TEST(Sha1, TakesAMillionLettersInUnevenPieces) {
  const std::string letters(1000, 'a');
  Sha1 sum;
  size_t left = 1000000;
  for (size_t piece = 1; left > 0; piece = piece % 997 + 3) {
    const size_t taken = std::min(piece, left);
    sum.update(letters.data(), taken);
    left -= taken;
  }
  EXPECT_EQ(sum.finish(), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

}  // namespace
}  // namespace sotta
