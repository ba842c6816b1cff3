#include "data/torch/torchscript_archive.h"

#include <gtest/gtest.h>

#include "data/formats/zip_archive.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/pickle_builder.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using namespace std::string_literals;
using testing::expect_error;
using testing::finish_pickle;
using testing::make_zip;
using testing::pickled;
using testing::pickled_dict;
using testing::PickledTensor;
using testing::stored;
using testing::ZipEntry;

SharedBytes borrow(const std::string& text) {
  return borrow_bytes(reinterpret_cast<const std::byte*>(text.data()),
                      text.size());
}

// The members of the archive that is made anew, by name.
std::map<std::string, std::string> parse(const std::string& file) {
  const SharedBytes bytes = borrow(file);
  std::string made;
  for (const Array& piece :
       parse_torchscript_archive(bytes.data, bytes.size, "net.pt"))
    made.append(piece.as<char>(), static_cast<size_t>(piece.bytes()));
  const ZipArchive archive(borrow(made), "made");
  std::map<std::string, std::string> members;
  for (const auto& [name, member] : archive.members()) {
    const SharedBytes content = archive.read(name);
    members[name] = {reinterpret_cast<const char*>(content.data.get()),
                     content.size};
  }
  return members;
}

// An object of the archive's own class with these attributes.
std::string object(const std::vector<std::string>& attributes) {
  return "c__torch__\nNet\n)\x81" + pickled_dict(attributes) + "b";
}

const std::string kModule =
    object({pickled("weight"), pickled(PickledTensor{})});

struct Parts {
  std::string module = kModule;
  std::string constants = ")";
  std::string version = "3\n";
  std::string storage = std::string(24, 'x');
};

std::vector<ZipEntry> entries(const Parts& parts) {
  return {stored("net/data/0", parts.storage),
          stored("net/data.pkl", finish_pickle(parts.module)),
          stored("net/code/__torch__.py", "class Net(Module):\n"),
          stored("net/code/__torch__.py.debug_pkl", "places"),
          stored("net/extra/notes.txt", "anything"),
          stored("net/constants.pkl", finish_pickle(parts.constants)),
          stored("net/version", parts.version)};
}

void expect_refusal(const std::string& file, ErrorKind kind,
                    const std::string& part) {
  expect_error(kind, part, [&] { parse(file); });
  expect_error(kind, "net.pt", [&] { parse(file); });
}

void expect_refusal(const Parts& parts, ErrorKind kind,
                    const std::string& part) {
  expect_refusal(make_zip(entries(parts)), kind, part);
}

TEST(TorchScriptArchive, KeepsWhatANetworkIsMadeOf) {
  const auto members = parse(make_zip(entries({})));
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members.at("archive/data/0"), std::string(24, 'x'));
  EXPECT_EQ(members.at("archive/data.pkl"), finish_pickle(kModule));
  EXPECT_EQ(members.at("archive/constants.pkl"), finish_pickle(")"));
  EXPECT_EQ(members.at("archive/version"), "3\n");
  EXPECT_EQ(members.at("archive/code/__torch__.py"), "class Net(Module):\n");
}

TEST(TorchScriptArchive, GoldenFilesPass) {
  for (const char* name : {"scripted.pt", "traced.pt", "without_averages.pt"})
    EXPECT_FALSE(read_torchscript_archive(std::string(testing::golden_dir()) +
                                          "/torchscript/" + name)
                     .empty());
}

TEST(TorchScriptArchive, MissingPartsAreNamed) {
  const auto without = [](size_t place) {
    auto members = entries({});
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(place));
    return make_zip(members);
  };
  const auto kind = ErrorKind::kBadFormat;
  expect_refusal(without(0), kind, "no storage \"net/data/0\"");
  expect_refusal(without(1), kind, "without data.pkl and constants.pkl");
  expect_refusal(without(5), kind, "without data.pkl and constants.pkl");
  expect_refusal(without(6), kind, "expected a member \"net/version\"");
}

TEST(TorchScriptArchive, DamagedMembersAreRefused) {
  auto members = entries({});
  members[2].checksum ^= 1;
  expect_refusal(make_zip(members), ErrorKind::kBadFormat, "CRC-32");
}

TEST(TorchScriptArchive, TheModuleIsAnObjectAndTheConstantsATuple) {
  Parts parts;
  parts.module = "}";
  expect_refusal(parts, ErrorKind::kBadFormat, "expected a module");
  parts.module = kModule;
  parts.constants = "]";
  expect_refusal(parts, ErrorKind::kBadFormat, "expected a tuple of constants");
  parts.constants = ").)";
  expect_refusal(parts, ErrorKind::kBadFormat, "2 bytes are left over");
}

TEST(TorchScriptArchive, TheVersionIsANumber) {
  for (const char* version : {"", "x\n", "3", "3\nx", "-3\n"}) {
    Parts parts;
    parts.version = version;
    expect_refusal(parts, ErrorKind::kBadFormat, "expected a number and");
  }
  Parts parts;
  parts.version = std::string(17, '1');
  expect_refusal(parts, ErrorKind::kBadFormat, "expected at most 16 bytes");
}

TEST(TorchScriptArchive, TensorsLieWithinTheirStorage) {
  const auto with = [](const PickledTensor& tensor) {
    Parts parts;
    parts.module = object({pickled("weight"), pickled(tensor)});
    return parts;
  };
  PickledTensor tensor;
  tensor.offset = 1;
  expect_refusal(with(tensor), ErrorKind::kBadFormat, "reaches out");
  tensor.offset = 0;
  tensor.storage_count = 7;
  expect_refusal(with(tensor), ErrorKind::kBadFormat, "expected 7 elements");
  tensor.storage_count = 6;
  tensor.strides = {-1};
  expect_refusal(with(tensor), ErrorKind::kBadFormat, "of at least 0");
}

TEST(TorchScriptArchive, TensorsMayRepeatElementsAndHaveAnyType) {
  PickledTensor repeated;
  repeated.shape = {100, 6};
  repeated.strides = {0, 1};
  repeated.storage = "BoolStorage";
  Parts parts;
  parts.module = object({pickled("mask"), pickled(repeated)});
  parts.storage = std::string(6, '\1');
  EXPECT_EQ(parse(make_zip(entries(parts))).size(), 5u);
}

TEST(TorchScriptArchive, ForeignNamesAreRefused) {
  Parts parts;
  parts.module = object({pickled("x"), "cos\nsystem\n"});
  expect_refusal(parts, ErrorKind::kUnsupported,
                 "\"os.system\", which no network");
}

TEST(TorchScriptArchive, DeepNestingAndLoopsAreRefused) {
  const auto nested = [](int depth) {
    std::string value = "N";
    for (int i = 0; i < depth; ++i)
      value += "\x85";
    Parts parts;
    parts.constants = value;
    return parts;
  };
  // The value inside is one level more.
  EXPECT_NO_THROW(parse(make_zip(entries(nested(299)))));
  expect_refusal(nested(300), ErrorKind::kBadFormat, "more than 300 deep");
  expect_refusal(nested(100000), ErrorKind::kBadFormat, "more than 300 deep");
  Parts loop;
  loop.constants = "]q\0h\0a\x85"s;
  expect_refusal(loop, ErrorKind::kBadFormat, "contains itself");
}

// Lists are made before what they hold, tuples after it.
TEST(TorchScriptArchive, ListsAreFollowedToTheirDepthToo) {
  const auto nested = [](int depth) {
    std::string begin, end;
    for (int i = 0; i < depth; ++i) {
      begin += "](";
      end += "e";
    }
    Parts parts;
    parts.constants = begin + "N" + end + "\x85";
    return parts;
  };
  // The value inside and the tuple around are one level each.
  EXPECT_NO_THROW(parse(make_zip(entries(nested(298)))));
  expect_refusal(nested(299), ErrorKind::kBadFormat, "more than 300 deep");
  Parts loop;  // two lists, each in the other
  loop.constants = "]q\0]q\1h\0aa\x85"s;
  expect_refusal(loop, ErrorKind::kBadFormat, "contains itself");
}

TEST(TorchScriptArchive, OneValueMayLieInManyPlaces) {
  Parts parts;
  parts.constants = "](](Ne](Nee\x85";
  EXPECT_NO_THROW(parse(make_zip(entries(parts))));
  parts.constants = "](Neq\0h\0h\0\x87\x85"s;
  EXPECT_NO_THROW(parse(make_zip(entries(parts))));
}

TEST(TorchScriptArchive, ALargeMemberIsRefusedBeforeItIsUnpacked) {
  auto members = entries({});
  members[1].method = 8;
  members[1].bytes = std::string(100000, 'x');  // not even deflate
  members[1].claimed_size = (64 << 20) + 1;
  expect_refusal(make_zip(members), ErrorKind::kBadFormat,
                 "expected at most 67108864 bytes, got 67108865");
}

TEST(TorchScriptArchive, TruncatedAnywhereIsAnError) {
  const std::string file = make_zip(entries({}));
  for (size_t size = 0; size < file.size(); ++size)
    expect_error(ErrorKind::kBadFormat, "net.pt",
                 [&] { parse(file.substr(0, size)); });
}

TEST(TorchScriptArchive, NoFileIsNotFound) {
  const testing::TempDir folder;
  expect_error(ErrorKind::kNotFound, "none.pt",
               [&] { read_torchscript_archive(folder / "none.pt"); });
}

}  // namespace
}  // namespace sotta
