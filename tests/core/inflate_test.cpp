#include "core/inflate.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

const std::string kText = "hello hello hello hello\n";

// The text as deflate, and the same wrapped as gzip.
const std::string kRaw("\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x27\xb9\x00", 11);
const std::string kGzip =
    std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03", 10) + kRaw +
    std::string("\x00\x88\x59\x0b\x18\x00\x00\x00", 8);

std::string inflate(DeflateFormat format, const std::string& input,
                    size_t size) {
  const std::string subject = "test.gz";
  std::string out(size, '?');
  inflate_exactly({format, reinterpret_cast<const std::byte*>(input.data()),
                   input.size(), subject},
                  reinterpret_cast<std::byte*>(out.data()), size);
  return out;
}

// These tests need zlib; a build without it proves only that it says so.
class Inflate : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      inflate(DeflateFormat::kRaw, kRaw, kText.size());
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(Inflate, UnpacksBothFormats) {
  EXPECT_EQ(inflate(DeflateFormat::kRaw, kRaw, kText.size()), kText);
  EXPECT_EQ(inflate(DeflateFormat::kGzip, kGzip, kText.size()), kText);
}

TEST_F(Inflate, UnpacksSeveralGzipMembers) {
  EXPECT_EQ(inflate(DeflateFormat::kGzip, kGzip + kGzip, 2 * kText.size()),
            kText + kText);
}

TEST_F(Inflate, GivesTheBeginningAlone) {
  const std::string subject = "test.gz";
  const Deflated input{DeflateFormat::kGzip,
                       reinterpret_cast<const std::byte*>(kGzip.data()),
                       kGzip.size(), subject};
  std::byte out[100];
  EXPECT_EQ(inflate_beginning(input, out, 5), 5u);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(out), 5), "hello");
  EXPECT_EQ(inflate_beginning(input, out, 100), kText.size());
}

TEST_F(Inflate, UnpacksWhatHasNoKnownSize) {
  const std::string subject = "test.gz";
  const auto at_most = [&](const std::string& bytes, size_t most) {
    return inflate_at_most(
        {DeflateFormat::kGzip, reinterpret_cast<const std::byte*>(bytes.data()),
         bytes.size(), subject},
        most);
  };
  std::string many;
  std::string long_text;
  for (int i = 0; i < 100; ++i) {
    many += kGzip;
    long_text += kText;
  }
  EXPECT_EQ(at_most(many, 1 << 20), long_text);
  EXPECT_EQ(at_most(many, long_text.size()), long_text);
  EXPECT_EQ(at_most(kGzip, 5), "hello");
  EXPECT_EQ(at_most(kGzip, 0), "");
  for (size_t size = 0; size < kGzip.size(); ++size)
    expect_error(ErrorKind::kBadFormat,
                 "test.gz: ", [&] { at_most(kGzip.substr(0, size), 100); });
}

TEST_F(Inflate, StopsAtTheFirstByteTooMany) {
  expect_error(ErrorKind::kBadFormat,
               "expected 23 bytes after unpacking, got more",
               [] { inflate(DeflateFormat::kGzip, kGzip, 23); });
  expect_error(ErrorKind::kBadFormat, "got more",
               [] { inflate(DeflateFormat::kRaw, kRaw, 0); });
}

TEST_F(Inflate, TooFewBytesAreAnError) {
  expect_error(ErrorKind::kBadFormat,
               "expected 25 bytes after unpacking, got 24",
               [] { inflate(DeflateFormat::kGzip, kGzip, 25); });
}

TEST_F(Inflate, TruncatedAnywhereIsAnError) {
  for (size_t size = 0; size < kGzip.size(); ++size)
    expect_error(ErrorKind::kBadFormat, "test.gz: ", [&] {
      inflate(DeflateFormat::kGzip, kGzip.substr(0, size), kText.size());
    });
  for (size_t size = 0; size < kRaw.size(); ++size)
    expect_error(ErrorKind::kBadFormat, "test.gz: ", [&] {
      inflate(DeflateFormat::kRaw, kRaw.substr(0, size), kText.size());
    });
}

TEST_F(Inflate, DamageIsFoundByTheChecksum) {
  std::string damaged = kGzip;
  damaged[kGzip.size() - 8] ^= 1;
  expect_error(ErrorKind::kBadFormat, "is damaged",
               [&] { inflate(DeflateFormat::kGzip, damaged, kText.size()); });
}

TEST_F(Inflate, BytesAfterTheEndAreAnError) {
  expect_error(ErrorKind::kBadFormat, "goes on after its end",
               [] { inflate(DeflateFormat::kRaw, kRaw + "x", kText.size()); });
  expect_error(ErrorKind::kBadFormat, "test.gz: ", [] {
    inflate(DeflateFormat::kGzip, kGzip + "x", 24);
  });
}

TEST(IsGzip, AsksTheFirstTwoBytes) {
  const auto is_gzip_text = [](const std::string& text) {
    return is_gzip(reinterpret_cast<const std::byte*>(text.data()),
                   text.size());
  };
  EXPECT_TRUE(is_gzip_text(kGzip));
  EXPECT_FALSE(is_gzip_text(kGzip.substr(0, 1)));
  EXPECT_FALSE(is_gzip_text(kRaw));
  EXPECT_FALSE(is_gzip_text(""));
}

TEST(MostInflatedBytes, BoundsWhatAHeaderMayClaim) {
  EXPECT_EQ(most_inflated_bytes(10), 10320u);
  EXPECT_EQ(most_inflated_bytes(static_cast<size_t>(-1)),
            static_cast<size_t>(-1));
}

}  // namespace
}  // namespace sotta
