#include "data/formats/npz.h"

#include <string>

#include <gtest/gtest.h>

#include "data/formats/mapped_file.h"
#include "data/formats/zip_archive.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/zip_builder.h"

namespace sotta {
namespace {

using testing::make_zip;
using testing::ZipEntry;

std::string golden(const std::string& name) {
  return std::string(testing::golden_dir()) + "/checkpoints/" + name;
}

// What tools/make_checkpoint_golden.py put into both archives.
void expect_golden_arrays(const std::map<std::string, Array>& arrays) {
  ASSERT_EQ(arrays.size(), 3u);
  const Array& floats = arrays.at("floats");
  EXPECT_EQ(floats.shape, (std::vector<int64_t>{2, 3}));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(floats.as<float>()[i], 0.25f * static_cast<float>(i));
  const Array& bytes = arrays.at("nested/bytes");
  ASSERT_EQ(bytes.count(), 1000);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(bytes.as<uint8_t>()[i], i % 7);
  EXPECT_EQ(arrays.at("empty").shape, (std::vector<int64_t>{0, 4}));
}

TEST(Npz, ReadsPlainArchives) {
  expect_golden_arrays(read_npz(golden("plain.npz")));
}

TEST(Npz, ReadsCompressedArchives) {
  std::map<std::string, Array> arrays;
  try {
    arrays = read_npz(golden("compressed.npz"));
  } catch (const Error& error) {
    ASSERT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
    GTEST_SKIP() << error.what();
  }
  expect_golden_arrays(arrays);
}

void expect_error(const std::string& file, const std::string& part) {
  const SharedBytes bytes = borrow_bytes(
      reinterpret_cast<const std::byte*>(file.data()), file.size());
  testing::expect_error(ErrorKind::kBadFormat, part,
                        [&] { parse_npz(bytes.data, bytes.size, "test.npz"); });
}

TEST(Npz, NamesTheMemberThatIsNoArray) {
  ZipEntry entry;
  entry.name = "x.npy";
  expect_error(make_zip({entry}), "test.npz, member \"x.npy\"");
  entry.name = "x.txt";
  expect_error(make_zip({entry}), "ends in .npy");
  entry.name = "x";
  expect_error(make_zip({entry}), "ends in .npy");
}

TEST(Npz, RefusesAMissingFile) {
  EXPECT_THROW(read_npz(golden("missing.npz")), Error);
}

}  // namespace
}  // namespace sotta
