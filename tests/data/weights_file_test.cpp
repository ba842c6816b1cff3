#include "data/formats/weights_file.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

std::string golden(const std::string& name) {
  return std::string(testing::golden_dir()) + "/checkpoints/" + name;
}

TensorFile small_file() {
  TensorFile file;
  file.tensors["net.weight"] =
      allocate_array(ElementType::kFloat32, {2, 2}).array;
  file.metadata["mean"] = "0.5";
  return file;
}

TEST(WeightsFile, GoesByContentNotByName) {
  const TempDir folder;
  write_safetensors(folder / "model.pth", small_file());
  const auto checkpoint = folder.write(
      "model.safetensors", testing::read_bytes(golden("nested.pth")));

  const WeightsFile first = read_weights_file(folder / "model.pth");
  const WeightsFile second = read_weights_file(checkpoint);

  EXPECT_EQ(first.format, "safetensors");
  EXPECT_EQ(first.content.metadata.at("mean"), "0.5");
  EXPECT_EQ(second.format, "torch");
  EXPECT_EQ(second.key, "state_dict");
  EXPECT_EQ(second.skipped.size(), 3u);
}

// The length of this header, 0x280, reads like the first bytes of a pickle.
TEST(WeightsFile, KnowsSafetensorsThatBeginLikeAPickle) {
  const TempDir folder;
  TensorFile file = small_file();
  const std::string empty_size = [&] {
    write_safetensors(folder / "x", file);
    return testing::read_bytes(folder / "x").substr(0, 2);
  }();
  const int length = static_cast<unsigned char>(empty_size[0]);
  file.metadata["mean"] +=
      std::string(static_cast<size_t>(0x280 - length), ' ');
  write_safetensors(folder / "x", file);
  ASSERT_EQ(testing::read_bytes(folder / "x").substr(0, 2), "\x80\x02");

  EXPECT_EQ(read_weights_file(folder / "x").format, "safetensors");
}

TEST(WeightsFile, StripsBothFormats) {
  const TempDir folder;
  write_safetensors(folder / "x", small_file());
  CheckpointOptions options;
  options.strip = "net.";
  EXPECT_EQ(
      read_weights_file(folder / "x", options).content.tensors.count("weight"),
      1u);
  options.strip = "module.conv.";
  EXPECT_EQ(read_weights_file(golden("parallel.pth"), options)
                .content.tensors.count("weight"),
            1u);
}

TEST(WeightsFile, RefusesAKeyWhereThereAreNone) {
  const TempDir folder;
  write_safetensors(folder / "x", small_file());
  CheckpointOptions options;
  options.key = "model";
  expect_error(ErrorKind::kInvalid, "no entries",
               [&] { read_weights_file(folder / "x", options); });
}

TEST(WeightsFile, RefusesEverythingElse) {
  const TempDir folder;
  for (const char* content : {"", "{}", "not a model at all"}) {
    const auto file = folder.write("x", content);
    expect_error(ErrorKind::kBadFormat, "got neither",
                 [&] { read_weights_file(file); });
  }
}

}  // namespace
}  // namespace sotta
