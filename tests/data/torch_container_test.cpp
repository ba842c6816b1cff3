#include "data/torch/torch_container.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/pickle_builder.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::finish_pickle;
using testing::little_endian;
using testing::make_zip;
using testing::pickled;
using testing::PickledTensor;
using testing::stored;

std::unique_ptr<TorchContainer> open(const std::string& file) {
  return open_torch_container(
      borrow_bytes(reinterpret_cast<const std::byte*>(file.data()),
                   file.size()),
      "test.pth");
}

void expect_refusal(const std::string& file, ErrorKind kind,
                    const std::string& part) {
  expect_error(kind, part, [&] { open(file); });
}

const std::string kMagic =
    finish_pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19");
const std::string kVersion = finish_pickle(pickled(1001));
const std::string kMachine = finish_pickle("}");

// The old format around one tensor and its storage of `count` floats.
std::string legacy(uint64_t count, const std::string& storage) {
  return kMagic + kVersion + kMachine +
         finish_pickle(pickled(PickledTensor{})) +
         finish_pickle("](" + pickled("0") + "e") + little_endian(count, 8) +
         storage;
}

TEST(TorchContainer, FindsTheStoragesOfTheOldFormat) {
  const std::string file = legacy(6, std::string(24, 'x'));
  const auto container = open(file);
  EXPECT_EQ(container->storage("0").size, 24u);
  EXPECT_EQ(container->object().at(container->object().root).kind,
            PickleKind::kCall);
}

TEST(TorchContainer, FindsTheFolderInsideAZip) {
  const std::string file = make_zip(
      {stored("my_net/data.pkl", finish_pickle("}")),
       stored("my_net/data/0", "bytes"), stored("my_net/byteorder", "little")});
  EXPECT_EQ(open(file)->storage("0").size, 5u);
  expect_error(ErrorKind::kBadFormat, "no storage \"my_net/data/1\"",
               [&] { open(file)->storage("1"); });
}

TEST(TorchContainer, RefusesOtherFiles) {
  const auto kind = ErrorKind::kBadFormat;
  expect_refusal("", kind, "neither a zip archive nor a pickle");
  expect_refusal("hello", kind, "neither a zip archive nor a pickle");
  expect_refusal(make_zip({stored("a.npy", "")}), kind, "without data.pkl");
  expect_refusal(finish_pickle("}"), kind, "magic number");
}

TEST(TorchContainer, RefusesTheOtherByteOrder) {
  const auto kind = ErrorKind::kUnsupported;
  expect_refusal(make_zip({stored("a/byteorder", "big"),
                           stored("a/data.pkl", finish_pickle("}"))}),
                 kind, "got \"big\"");
  expect_refusal(kMagic + kVersion +
                     finish_pickle("}" + pickled("little_endian") + "\x89s"),
                 kind, "big-endian");
}

TEST(TorchContainer, IgnoresFactsAboutTheMachineThatComeWithoutAValue) {
  const std::string rest = finish_pickle(pickled(PickledTensor{})) +
                           finish_pickle("](" + pickled("0") + "e") +
                           little_endian(6, 8) + std::string(24, 'x');
  for (const std::string& facts :
       {"](" + pickled("little_endian") + "e",
        "](" + pickled("type_sizes") + "N" + pickled("little_endian") + "e",
        "}" + pickled("little_endian") + "\x88s"}) {
    const std::string file = kMagic + kVersion + finish_pickle(facts) + rest;
    EXPECT_EQ(open(file)->storage("0").size, 24u);
  }
}

TEST(TorchContainer, RefusesSmallMembersThatAreLarge) {
  auto large = stored("a/data.pkl", finish_pickle("}"));
  large.method = 8;
  large.bytes = std::string(100000, 'x');
  large.claimed_size = (64 << 20) + 1;
  expect_refusal(make_zip({large}), ErrorKind::kBadFormat,
                 "expected at most 67108864 bytes");
  expect_refusal(make_zip({stored("a/byteorder", std::string(17, 'x')),
                           stored("a/data.pkl", finish_pickle("}"))}),
                 ErrorKind::kBadFormat, "expected at most 16 bytes");
}

TEST(TorchContainer, KnowsTheSizeOfAStorage) {
  EXPECT_EQ(open(legacy(6, std::string(24, 'x')))->storage_size("0"), 24u);
  const std::string file = make_zip(
      {stored("a/data.pkl", finish_pickle("}")), stored("a/data/0", "bytes")});
  EXPECT_EQ(open(file)->storage_size("0"), 5u);
  expect_error(ErrorKind::kBadFormat, "no storage \"a/data/1\"",
               [&] { open(file)->storage_size("1"); });
}

TEST(TorchContainer, RefusesAnotherVersionOfTheOldFormat) {
  expect_refusal(kMagic + finish_pickle(pickled(1002)), ErrorKind::kUnsupported,
                 "version 1001");
}

TEST(TorchContainer, RefusesStoragesThatDoNotFit) {
  const auto kind = ErrorKind::kBadFormat;
  expect_refusal(legacy(7, std::string(24, 'x')), kind, "end of the file");
  expect_refusal(legacy(~uint64_t{0}, ""), kind, "end of the file");
  expect_refusal(legacy(6, std::string(25, 'x')), kind, "left over");
}

TEST(TorchContainer, RefusesAStorageThatNoTensorUses) {
  expect_refusal(kMagic + kVersion + kMachine + finish_pickle("}") +
                     finish_pickle("](" + pickled("9") + "e"),
                 ErrorKind::kBadFormat, "no tensor uses the storage \"9\"");
}

TEST(TorchContainer, RefusesDamagedReferences) {
  const auto with_id = [](const std::string& id) {
    return kMagic + kVersion + kMachine + finish_pickle("(" + id + "tQ") +
           finish_pickle("]");
  };
  const std::string type = "ctorch\nFloatStorage\n";
  const auto kind = ErrorKind::kBadFormat;
  expect_refusal(with_id(pickled("storage")), kind, "five entries");
  expect_refusal(with_id(pickled("module") + type + "NNN"), kind,
                 "begin with \"storage\"");
  expect_refusal(with_id(pickled("storage") + type + "NNN"), kind, "key");
  expect_refusal(with_id(pickled("storage") + type + pickled("0") + "NN"), kind,
                 "number of elements");
  expect_refusal(
      with_id(pickled("storage") + "N" + pickled("0") + "N" + pickled(3)), kind,
      "storage type");
  expect_refusal(with_id(pickled("storage") + type + pickled("0") + "N" +
                         pickled(3) + ")"),
                 ErrorKind::kUnsupported, "a piece of another");
}

}  // namespace
}  // namespace sotta
