#include "serve/protocol/inflate_body.h"

#include <gtest/gtest.h>

#include "tests/serve/expect_refusal.h"

namespace sotta {
namespace {

using testing::expect_refusal;

std::string bytes(const std::vector<int>& codes) {
  return {codes.begin(), codes.end()};
}

// "{}" twelve times, as Python's gzip and zlib write it.
const std::string kGzip =
    bytes({31,  139, 8,  0, 0,   0,  0,   0,  2,  3, 171, 174,
           173, 198, 10, 1, 154, 16, 152, 94, 24, 0, 0,   0});
const std::string kZlib =
    bytes({120, 156, 171, 174, 173, 198, 10, 1, 145, 92, 11, 161});
const std::string kPlain = "{}{}{}{}{}{}{}{}{}{}{}{}";

bool can_inflate() {
  try {
    return inflate_body(kGzip, "gzip", 100) == kPlain;
  } catch (const RequestError& error) {
    return error.status() != HttpStatus::kUnsupportedMedia;
  }
}

TEST(InflateBody, GivesWhatTheClientCompressed) {
  if (!can_inflate()) GTEST_SKIP() << "no zlib in this build";
  EXPECT_EQ(inflate_body(kGzip, "gzip", 24), kPlain);
  EXPECT_EQ(inflate_body(kGzip, "GZip", 24), kPlain);
  EXPECT_EQ(inflate_body(kGzip, "x-gzip", 24), kPlain);
  EXPECT_EQ(inflate_body(kZlib, "deflate", 24), kPlain);
  EXPECT_EQ(inflate_body("as it is", "", 1), "as it is");
  EXPECT_EQ(inflate_body("as it is", "identity", 1), "as it is");
}

TEST(InflateBody, OtherEncodingsAreRefused) {
  for (const char* encoding : {"br", "zstd", "gzip, gzip", "GZIP ", "x"})
    expect_refusal(HttpStatus::kUnsupportedMedia, "gzip, deflate or none",
                   [&] { inflate_body(kGzip, encoding, 100); });
}

TEST(InflateBody, BeyondTheLimitIsTooLarge) {
  if (!can_inflate()) GTEST_SKIP() << "no zlib in this build";
  expect_refusal(HttpStatus::kTooLarge, "at most 23 bytes",
                 [] { inflate_body(kGzip, "gzip", 23); });
  // Many members, one after another, are one body.
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += kGzip;
  EXPECT_EQ(inflate_body(many, "gzip", 24000).size(), 24000U);
  expect_refusal(HttpStatus::kTooLarge, "unpacking",
                 [&] { inflate_body(many, "gzip", 23999); });
}

TEST(InflateBody, DamagedAndTruncatedBodiesAreBad) {
  if (!can_inflate()) GTEST_SKIP() << "no zlib in this build";
  for (const auto& whole :
       {std::pair{kGzip, "gzip"}, std::pair{kZlib, "deflate"}})
    for (size_t size = 1; size < whole.first.size(); ++size)
      expect_refusal(HttpStatus::kBadRequest, "request: ", [&] {
        inflate_body(whole.first.substr(0, size), whole.second, 100);
      });
  expect_refusal(HttpStatus::kBadRequest, "damaged",
                 [] { inflate_body("plain text", "gzip", 100); });
  expect_refusal(HttpStatus::kBadRequest, "damaged",
                 [] { inflate_body(kGzip, "deflate", 100); });
}

}  // namespace
}  // namespace sotta
