#include "data/sets/cifar.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

// Label bytes, then an image whose three planes begin with r, g and b.
std::string record(const std::string& labels) {
  const std::string rest(1023, '.');
  return labels + "r" + rest + "g" + rest + "b" + rest;
}

CifarImages parse(const std::string& content, CifarKind kind) {
  return parse_cifar(reinterpret_cast<const std::byte*>(content.data()),
                     content.size(), kind, "test.bin");
}

TEST(Cifar, ReadsCifar10) {
  const TempDir folder;
  const auto path = folder.write("a.bin", record("\x09") + record("\x03"));

  const auto [images, labels] = read_cifar(path, CifarKind::k10);

  EXPECT_EQ(images.shape, (std::vector<int64_t>{2, 3, 32, 32}));
  EXPECT_EQ(images.as<char>()[0], 'r');
  EXPECT_EQ(images.as<char>()[1024], 'g');
  EXPECT_EQ(images.as<char>()[3072 + 2048], 'b');
  EXPECT_EQ(labels.type, ElementType::kInt64);
  EXPECT_EQ(labels.shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(labels.as<int64_t>()[0], 9);
  EXPECT_EQ(labels.as<int64_t>()[1], 3);
}

TEST(Cifar, ReadsTheFineLabelsOfCifar100) {
  const auto [images, labels] = parse(record("\x13\x63"), CifarKind::k100);
  EXPECT_EQ(images.as<char>()[0], 'r');
  EXPECT_EQ(labels.as<int64_t>()[0], 99);
}

TEST(Cifar, NamesTheRecordOfALabelOutOfRange) {
  expect_error(ErrorKind::kBadFormat,
               "test.bin: expected labels within 0 .. 9, got 10 in record 1",
               [] { parse(record("\x09") + record("\x0a"), CifarKind::k10); });
  expect_error(ErrorKind::kBadFormat, "0 .. 99, got 100 in record 0",
               [] { parse(record("\x13\x64"), CifarKind::k100); });
  expect_error(ErrorKind::kBadFormat, "0 .. 19, got 20 in record 0",
               [] { parse(record("\x14\x01"), CifarKind::k100); });
}

TEST(Cifar, TruncatedAnywhereIsAnError) {
  const std::string whole = record("\x01");
  for (size_t size = 0; size < whole.size(); ++size)
    expect_error(
        ErrorKind::kBadFormat,
        "records of 3073 bytes, at least one, got " + std::to_string(size),
        [&] { parse(whole.substr(0, size), CifarKind::k10); });
}

TEST(Cifar, TheOtherKindIsAnError) {
  expect_error(ErrorKind::kBadFormat, "records of 3074 bytes",
               [] { parse(record("\x01"), CifarKind::k100); });
}

TEST(Cifar, RefusesAFolder) {
  const TempDir folder;
  expect_error(ErrorKind::kInvalid, "got a folder",
               [&] { read_cifar(folder.path(), CifarKind::k10); });
}

}  // namespace
}  // namespace sotta
