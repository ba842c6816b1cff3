#include "data/formats/npy.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(testing::golden_dir()) / "data" /
         (name + ".npy");
}

Array parse(const std::string& content) {
  return parse_npy(reinterpret_cast<const std::byte*>(content.data()),
                   content.size(), "test.npy");
}

// A version 1 file with this dictionary.
std::string npy(const std::string& dictionary, const std::string& elements) {
  return std::string("\x93NUMPY\x01\0", 8) +
         static_cast<char>(dictionary.size() % 256) +
         static_cast<char>(dictionary.size() / 256) + dictionary + elements;
}

std::string dictionary(const std::string& shape) {
  return "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <class T>
std::vector<T> values(const Array& array) {
  return {array.as<T>(), array.as<T>() + array.count()};
}

TEST(Npy, ReadsWhatNumPyWrote) {
  const Array bytes = read_npy(golden("uint8"));
  EXPECT_EQ(bytes.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values<uint8_t>(bytes), (std::vector<uint8_t>{0, 1, 2, 3, 4, 5}));
  const Array whole = read_npy(golden("int64"));
  EXPECT_EQ(whole.shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(values<int64_t>(whole), (std::vector<int64_t>{-1, 1LL << 62}));
  const Array floats = read_npy(golden("float32"));
  EXPECT_EQ(floats.shape, (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(values<float>(floats), (std::vector<float>{1.5f, -0.25f}));
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  const Array scalar = read_npy(golden("scalar"));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(scalar.as<int64_t>()[0], 7);
  EXPECT_EQ(read_npy(golden("empty")).shape, (std::vector<int64_t>{0, 3}));
}

TEST(Npy, ReadsAllThreeVersions) {
  for (const auto* name : {"uint8", "uint8_v2", "uint8_v3"})
    EXPECT_EQ(values<uint8_t>(read_npy(golden(name)))[5], 5) << name;
}

TEST(Npy, RefusesWhatItHasNoTypeFor) {
  expect_error(ErrorKind::kUnsupported, "Fortran order",
               [] { read_npy(golden("fortran")); });
  expect_error(ErrorKind::kUnsupported, "\">f4\"",
               [] { read_npy(golden("big_endian")); });
  expect_error(ErrorKind::kUnsupported, "structured",
               [] { read_npy(golden("structured")); });
  expect_error(ErrorKind::kUnsupported, "got 4.0", [] {
    std::string content = npy(dictionary("()"), "x");
    content[6] = 4;
    parse(content);
  });
}

TEST(Npy, WritesTheBytesNumPyWrites) {
  const TempDir folder;
  for (const auto* name : {"uint8", "int64", "float32", "scalar", "empty"}) {
    write_npy(folder / "copy.npy", read_npy(golden(name)));
    EXPECT_EQ(read_bytes(folder / "copy.npy"), read_bytes(golden(name)))
        << name;
  }
}

TEST(Npy, RefusesToWriteTypesItCannotRead) {
  const TempDir folder;
  expect_error(ErrorKind::kUnsupported, "got bfloat16", [&] {
    write_npy(folder / "a.npy",
              allocate_array(ElementType::kBfloat16, {1}).array);
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "a.npy"));
}

TEST(Npy, FileMayBeReplacedWhileItIsRead) {
  const TempDir folder;
  write_npy(folder / "a.npy", read_npy(golden("uint8")));
  const Array old = read_npy(folder / "a.npy");
  write_npy(folder / "a.npy", read_npy(golden("scalar")));
  EXPECT_EQ(old.as<uint8_t>()[5], 5);
}

TEST(Npy, ParsesFromMemoryWithAndWithoutACopy) {
  const std::string content = npy(dictionary("(2,)"), "ab");
  const Array copy = parse(content);
  const auto* begin = reinterpret_cast<const std::byte*>(content.data());
  const Array view = parse_npy(
      std::shared_ptr<const std::byte>(std::shared_ptr<void>(), begin),
      content.size(), "test.npy");
  EXPECT_EQ(copy.as<char>()[1], 'b');
  EXPECT_EQ(view.as<char>(), content.data() + content.size() - 2);
}

TEST(Npy, TakesOtherSpellingsOfTheDictionary) {
  const auto* text =
      "{\"shape\":( 2L , 1 ),'fortran_order' : False,'descr':\"|u1\"}  \n";
  EXPECT_EQ(parse(npy(text, "ab")).shape, (std::vector<int64_t>{2, 1}));
}

TEST(Npy, TruncatedAnywhereIsAnError) {
  for (const auto* name : {"uint8", "uint8_v3", "scalar"}) {
    const std::string whole = read_bytes(golden(name));
    for (size_t size = 0; size < whole.size(); ++size)
      expect_error(ErrorKind::kBadFormat,
                   "test.npy: ", [&] { parse(whole.substr(0, size)); });
  }
}

TEST(Npy, BytesLeftOverAreAnError) {
  expect_error(ErrorKind::kBadFormat,
               "expected 1 bytes of uint8[1] after the header, got 2",
               [] { parse(npy(dictionary("(1,)"), "ab")); });
}

TEST(Npy, AbsurdSizesAllocateNothing) {
  for (const auto* shape :
       {"(1000000000000000000,)", "(4294967296, 4294967296)",
        "(99999999999999999999,)", "(-1,)", "(-1, -1)"})
    expect_error(ErrorKind::kBadFormat,
                 "test.npy: ", [&] { parse(npy(dictionary(shape), "ab")); });
}

TEST(Npy, DamagedHeadersAreErrors) {
  const std::string many = "(" + std::string(66, '1').replace(1, 0, ",") + ")";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{}"),
        std::string("{'descr': '|u1'}"), std::string("{'descr"),
        std::string("{'descr': '|u1', 'descr': '|u1'}"),
        std::string("{'other': 1}"), std::string("{'shape': (1 2)}"),
        std::string("{'shape': (a,)}"), std::string("{'fortran_order': 0}"),
        dictionary("()") + "x", dictionary(many), std::string("\xff\xfe\x80")})
    expect_error(ErrorKind::kBadFormat,
                 "test.npy: ", [&] { parse(npy(text, "a")); });
}

TEST(Npy, TooManyDimensionsAreAnError) {
  std::string shape = "(";
  for (int i = 0; i < 32; ++i)
    shape += "1,";
  EXPECT_EQ(parse(npy(dictionary(shape + ")"), "a")).shape.size(), 32u);
  shape += "1,";
  expect_error(ErrorKind::kBadFormat, "at most 32 dimensions",
               [&] { parse(npy(dictionary(shape + ")"), "a")); });
}

TEST(Npy, OtherFilesAreAnError) {
  expect_error(ErrorKind::kBadFormat, "expected a .npy file",
               [] { parse("PK\x03\x04 something else"); });
}

TEST(Npy, MessagesHoldNoUnprintableBytes) {
  const auto* text = "{'descr': '\x1b[2J\n\xff'}";
  expect_error(ErrorKind::kUnsupported, "got \"?[2J??\"",
               [&] { parse(npy(text, "")); });
}

}  // namespace
}  // namespace sotta
