#include "serve/access/sha256.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

TEST(Sha256, IsThatOfTheStandardOrSaysWhatIsMissing) {
  Sha256 digest = {};
  try {
    digest = sha256("abc");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    return;
  }
  EXPECT_EQ(digest[0], 0xba);  // FIPS 180-4: ba7816bf ... f20015ad
  EXPECT_EQ(digest[1], 0x78);
  EXPECT_EQ(digest[31], 0xad);
}

TEST(Sha256, HashesThatDifferAnywhereAreNotEqual) {
  try {
    sha256("");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const Sha256 hash = sha256("x");
  EXPECT_TRUE(equal_in_constant_time(hash, hash));
  for (size_t i = 0; i < hash.size(); ++i) {
    Sha256 other = hash;
    other[i] ^= 1;
    EXPECT_FALSE(equal_in_constant_time(hash, other)) << i;
  }
}

}  // namespace
}  // namespace sotta
