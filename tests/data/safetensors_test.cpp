#include "sotta/data/safetensors.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

std::string little_endian(uint64_t value) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string with_length(const std::string& json, const std::string& payload) {
  return little_endian(json.size()) + json + payload;
}

TensorFile parse(const std::string& content) {
  return parse_safetensors(reinterpret_cast<const std::byte*>(content.data()),
                           content.size(), "test.safetensors");
}

void expect_bad(const std::string& json, const std::string& payload,
                const std::string& problem) {
  expect_error(ErrorKind::kBadFormat, problem,
               [&] { parse(with_length(json, payload)); });
}

// "name":{...} for a header.
std::string entry(const std::string& name, const std::string& dtype,
                  const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

Array filled(ElementType type, std::vector<int64_t> shape, int first) {
  auto [array, memory] = allocate_array(type, std::move(shape));
  for (int64_t i = 0; i < array.bytes(); ++i)
    memory[i] = static_cast<std::byte>(first + i);
  return array;
}

std::string bytes_of(const Array& array) {
  return {array.as<char>(), array.as<char>() + array.bytes()};
}

TensorFile every_type() {
  TensorFile file;
  file.tensors["a.bytes"] = filled(ElementType::kUint8, {3}, 1);
  file.tensors["b.bf16"] = filled(ElementType::kBfloat16, {1, 1}, 10);
  file.tensors["c.half"] = filled(ElementType::kFloat16, {2}, 20);
  file.tensors["d.float"] = filled(ElementType::kFloat32, {2, 2}, 30);
  file.tensors["e.long"] = filled(ElementType::kInt64, {}, 50);
  file.tensors["f.empty"] = filled(ElementType::kFloat32, {0, 7}, 0);
  file.metadata = {{"format", "pt"}, {"note", "\u00e9 \"quoted\"\n"}};
  return file;
}

TEST(Safetensors, ReadsHandMadeBytes) {
  const TensorFile file = parse(with_length(
      R"({"__metadata__":{"k":"v"},)" + entry("w", "U8", "[1,2]", "[0,2]") +
          "," + entry("h", "F16", "[1]", "[2,4]") + "}  ",
      "abcd"));
  EXPECT_EQ(file.metadata.at("k"), "v");
  EXPECT_EQ(file.tensors.at("w").shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(file.tensors.at("w").as<char>()[1], 'b');
  EXPECT_EQ(file.tensors.at("h").type, ElementType::kFloat16);
  EXPECT_EQ(file.tensors.at("h").as<char>()[0], 'c');
}

TEST(Safetensors, WritesWhatItReads) {
  const TempDir folder;
  const TensorFile file = every_type();

  write_safetensors(folder / "a.safetensors", file);
  const TensorFile copy = read_safetensors(folder / "a.safetensors");

  EXPECT_EQ(copy.metadata, file.metadata);
  ASSERT_EQ(copy.tensors.size(), file.tensors.size());
  for (const auto& [name, array] : file.tensors) {
    const Array& other = copy.tensors.at(name);
    EXPECT_EQ(other.type, array.type) << name;
    EXPECT_EQ(other.shape, array.shape) << name;
    EXPECT_EQ(bytes_of(other), bytes_of(array)) << name;
  }
}

TEST(Safetensors, WritesAlignedTensorsAndAPaddedHeader) {
  const TempDir folder;
  write_safetensors(folder / "a.safetensors", every_type());
  EXPECT_EQ(
      static_cast<unsigned char>(read_bytes(folder / "a.safetensors")[0]) % 8,
      0);
  const TensorFile file = read_safetensors(folder / "a.safetensors");
  const auto* start = file.tensors.at("e.long").data.get();
  for (const auto& [name, array] : file.tensors)
    EXPECT_LT(array.data.get() - start, 64) << name << " was copied";
}

TEST(Safetensors, EqualContentGivesEqualBytes) {
  const TempDir folder;
  write_safetensors(folder / "a", every_type());
  write_safetensors(folder / "b", read_safetensors(folder / "a"));
  EXPECT_EQ(read_bytes(folder / "a"), read_bytes(folder / "b"));
}

TEST(Safetensors, WritesTheKnownBytes) {
  const TempDir folder;
  TensorFile file;
  file.tensors["w"] = filled(ElementType::kUint8, {2}, 'a');
  write_safetensors(folder / "a", file);
  std::string json = "{" + entry("w", "U8", "[2]", "[0,2]") + "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_bytes(folder / "a"), with_length(json, "ab"));
}

TEST(Safetensors, BytesInMemoryAreThoseOfTheFile) {
  const TempDir folder;
  write_safetensors(folder / "a", every_type());

  EXPECT_EQ(safetensors_bytes(every_type(), "a"), read_bytes(folder / "a"));
}

TEST(Safetensors, FileMayBeReplacedWhileItIsRead) {
  const TempDir folder;
  write_safetensors(folder / "a", every_type());
  const TensorFile old = read_safetensors(folder / "a");
  write_safetensors(folder / "a", {});
  EXPECT_EQ(old.tensors.at("a.bytes").as<uint8_t>()[2], 3);
  EXPECT_TRUE(read_safetensors(folder / "a").tensors.empty());
}

TEST(Safetensors, CopiesTensorsThatLieUnaligned) {
  const TempDir folder;
  const auto path = folder.write(
      "a", with_length("{" + entry("w", "F32", "[1]", "[0,4]") + "} ",
                       std::string("\0\0\xc0\x3f", 4)));
  const TensorFile file = read_safetensors(path);
  const auto* begin = file.tensors.at("w").data.get();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % 4, 0u);
  EXPECT_EQ(file.tensors.at("w").as<float>()[0], 1.5f);
}

TEST(Safetensors, RefusesToWriteWhatCannotBeRead) {
  const TempDir folder;
  TensorFile file;
  file.metadata["k"] = "\xff";
  expect_error(ErrorKind::kInvalid, "UTF-8",
               [&] { write_safetensors(folder / "a", file); });
  file = {};
  file.tensors["__metadata__"] = filled(ElementType::kUint8, {1}, 0);
  expect_error(ErrorKind::kInvalid, "reserved name",
               [&] { write_safetensors(folder / "a", file); });
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(Safetensors, NamesTheTensorOfAnotherType) {
  expect_error(ErrorKind::kUnsupported, "tensor \"w\", got \"F64\"", [] {
    parse(
        with_length("{" + entry("w", "F64", "[1]", "[0,8]") + "}", "12345678"));
  });
}

TEST(Safetensors, TruncatedAnywhereIsAnError) {
  const TempDir folder;
  write_safetensors(folder / "a", every_type());
  const std::string whole = read_bytes(folder / "a");
  for (size_t size = 0; size < whole.size(); ++size)
    expect_error(ErrorKind::kBadFormat,
                 "test.safetensors: ", [&] { parse(whole.substr(0, size)); });
}

TEST(Safetensors, BytesLeftOverAreAnError) {
  expect_bad("{" + entry("w", "U8", "[1]", "[0,1]") + "}", "ab",
             "expected 1 bytes of data after the header, got 2");
}

TEST(Safetensors, AbsurdHeaderLengthsAllocateNothing) {
  for (const uint64_t length :
       {uint64_t{1000000000000000000}, ~uint64_t{0}, ~uint64_t{7}})
    expect_error(ErrorKind::kBadFormat, "got one of",
                 [&] { parse(little_endian(length) + "{}"); });
}

TEST(Safetensors, TheHeaderEndsWithinTheFile) {
  EXPECT_NO_THROW(parse(little_endian(2) + "{}"));
  // The length itself takes eight bytes, which are not the header's.
  for (uint64_t length = 3; length <= 11; ++length)
    expect_error(ErrorKind::kBadFormat,
                 "got one of " + std::to_string(length) + " bytes",
                 [&] { parse(little_endian(length) + "{}"); });
}

TEST(Safetensors, TheHeaderHasAtMostAHundredMegabytes) {
  const TempDir folder;
  const auto read_header_of = [&](uint64_t length) {
    const auto file = folder.write("large", little_endian(length) + "x");
    std::filesystem::resize_file(file, 8 + length);  // a hole on the disk
    read_safetensors(file);
  };
  expect_error(ErrorKind::kBadFormat, "large",
               [&] { read_header_of(100'000'000); });
  expect_error(ErrorKind::kBadFormat, "got one of 100000001 bytes",
               [&] { read_header_of(100'000'001); });
  try {
    read_header_of(100'000'000);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("got one of"), std::string::npos);
  }
}

TEST(Safetensors, AbsurdShapesAllocateNothing) {
  expect_bad("{" + entry("w", "F32", "[1000000000000000000]", "[0,4]") + "}",
             "abcd", "expected 4000000000000000000 bytes for tensor \"w\"");
  expect_bad("{" + entry("w", "F32", "[4294967296,4294967296]", "[0,4]") + "}",
             "abcd", "more than 2^63 bytes");
  expect_bad("{" + entry("w", "U8", "[18446744073709551615]", "[0,1]") + "}",
             "a", "from 0 to 2^63 - 1");
  expect_bad("{" + entry("w", "U8", "[0]", "[0,9223372036854775807]") + "}",
             "a", "expected 9223372036854775807 bytes");
}

TEST(Safetensors, OverlapsAndHolesAreErrors) {
  expect_bad("{" + entry("a", "U8", "[2]", "[0,2]") + "," +
                 entry("b", "U8", "[2]", "[1,3]") + "}",
             "abc", "(an overlap)");
  expect_bad("{" + entry("a", "U8", "[1]", "[0,1]") + "," +
                 entry("b", "U8", "[1]", "[2,3]") + "}",
             "abc", "(a hole)");
  expect_bad("{" + entry("a", "U8", "[1]", "[1,0]") + "}", "a",
             "expected data_offsets [begin, end], got [1, 0]");
}

TEST(Safetensors, SizesThatDoNotFitTheShapeAreErrors) {
  expect_bad("{" + entry("w", "F32", "[2]", "[0,4]") + "}", "abcd",
             "expected 8 bytes for tensor \"w\" of float32[2], got 4");
}

TEST(Safetensors, NamesGivenTwiceAreErrors) {
  const std::string w = entry("w", "U8", "[1]", "[0,1]");
  expect_bad("{" + w + "," + w + "}", "a", "\"w\" is given twice");
  expect_bad(R"({"__metadata__":{"k":"1","k":"2"}})", "",
             "\"k\" is given twice");
  expect_bad(R"({"__metadata__":{},"__metadata__":{}})", "", "given twice");
  expect_bad(R"({"w":{"dtype":"U8","dtype":"U8"}})", "", "once each");
}

TEST(Safetensors, MisplacedValuesAreErrors) {
  expect_bad(R"({"__metadata__":{"k":1}})", "", "expected text for metadata");
  expect_bad(R"({"__metadata__":"x"})", "", "expected an object for");
  expect_bad(R"({"w":{}})", "", "is missing");
  expect_bad(R"({"w":{"dtype":"U8","shape":[]}})", "",
             "data_offsets is missing");
  expect_bad(R"({"w":{"other":1}})", "", "got \"other\"");
  expect_bad(R"({"w":{"dtype":[]}})", "", "expected text as dtype");
  expect_bad(R"({"w":{"shape":"x"}})", "", "expected a list as shape");
  expect_bad(R"({"w":{"shape":{}}})", "", "got an object");
  expect_bad(R"({"w":{"shape":[-1]}})", "", "got -1");
  expect_bad(R"({"w":{"shape":[1.5]}})", "", "got \"1.5\"");
  expect_bad(R"({"w":{"shape":[true]}})", "", "got true or false");
  expect_bad(R"({"w":{"shape":[null]}})", "", "got null");
  expect_bad(R"({"w":{"shape":[[1]]}})", "", "got a list");
  expect_bad(R"({"w":{"data_offsets":[1]}})", "", "expected data_offsets");
  expect_bad(R"({"w":7})", "", "got a number");
}

TEST(Safetensors, NamesTheTensorThatIsWrong) {
  const std::string first = "{" + entry("a", "U8", "[1]", "[0,1]") + ",";
  expect_bad(first + R"("b":{"shape":[-1]}})", "a", "tensor \"b\": expected");
  expect_bad(first + R"("b":{"dtype":"U8"}})", "a",
             "tensor \"b\": expected dtype, shape and data_offsets, but "
             "data_offsets is missing");
  expect_bad(first + R"("b":7})", "a",
             "test.safetensors: expected an object for \"b\", got a number");
  expect_bad(first + R"("__metadata__":{"k":[]}})", "a",
             "test.safetensors: expected text for metadata \"k\", got a list");
}

TEST(Safetensors, TextThatIsNotJsonIsAnError) {
  expect_bad("{\"\xff\":1}", "", "not valid JSON in UTF-8");
  expect_bad("{} x", "", "not valid JSON in UTF-8");
  expect_bad(" {}", "", "does not begin with {");
  expect_bad("[]", "", "does not begin with {");
  expect_bad("", "", "does not begin with {");
}

TEST(Safetensors, DeepNestingIsAnError) {
  expect_bad("{\"w\":" + std::string(100000, '['), "", "expected an object");
  std::string numbers;
  for (int i = 0; i < 65; ++i)
    numbers += i == 0 ? "1" : ",1";
  expect_bad("{" + entry("w", "U8", "[" + numbers + "]", "[0,1]") + "}", "a",
             "at most 64 numbers");
}

TEST(Safetensors, RefusesAFolder) {
  const TempDir folder;
  expect_error(ErrorKind::kInvalid, "got a folder",
               [&] { read_safetensors(folder.path()); });
}

}  // namespace
}  // namespace sotta
