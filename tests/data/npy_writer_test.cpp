#include "data/formats/npy_writer.h"

#include <numeric>

#include <gtest/gtest.h>

#include "data/formats/npy.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

// uint8 numbers that count upwards from `first`.
Array counting(int64_t count, uint8_t first) {
  NewArray made = allocate_array(ElementType::kUint8, {count});
  auto* bytes = reinterpret_cast<uint8_t*>(made.writable);
  std::iota(bytes, bytes + count, first);
  return made.array;
}

TEST(NpyWriter, WritesPiecesThatReadAsOneArray) {
  const TempDir dir;
  const auto path = dir.path() / "a.npy";

  NpyWriter writer(path, ElementType::kUint8, {2, 3});
  writer.append(counting(4, 0));
  writer.append(counting(2, 4));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.commit();

  const Array found = read_npy(path);
  EXPECT_EQ(found.shape, (std::vector<int64_t>{2, 3}));
  for (uint8_t i = 0; i < 6; ++i)
    EXPECT_EQ(found.as<uint8_t>()[i], i);
}

TEST(NpyWriter, LeavesNothingWithoutCommit) {
  const TempDir dir;
  {
    NpyWriter writer(dir.path() / "a.npy", ElementType::kUint8, {6});
    writer.append(counting(6, 0));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(NpyWriter, RefusesTooFewAndTooManyElementsAndOtherTypes) {
  const TempDir dir;
  NpyWriter writer(dir.path() / "a.npy", ElementType::kUint8, {6});
  writer.append(counting(4, 0));

  expect_error(ErrorKind::kInvalid, "2 bytes of the array are missing",
               [&] { writer.commit(); });
  expect_error(ErrorKind::kInvalid, "expected at most 2 more bytes, got 3",
               [&] { writer.append(counting(3, 0)); });
  expect_error(
      ErrorKind::kInvalid, "expected elements of uint8, got int64",
      [&] { writer.append(allocate_array(ElementType::kInt64, {1}).array); });
}

}  // namespace
}  // namespace sotta
