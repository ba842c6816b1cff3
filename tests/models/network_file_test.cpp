#include "models/network_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

std::string format_of(const std::string& file) {
  return name_of(network_format(std::string(testing::golden_dir()) + file));
}

TEST(NetworkFile, FormatsAreToldByTheirContent) {
  EXPECT_EQ(format_of("/torchscript/traced.pt"), "torchscript");
  EXPECT_EQ(format_of("/exported/tiny.pt2"), "exported");
  EXPECT_EQ(format_of("/exported/tiny_old.pt2"), "exported");
  EXPECT_EQ(format_of("/methods/network.safetensors"), "safetensors");
  EXPECT_EQ(format_of("/checkpoints/zip.pth"), "safetensors");
  EXPECT_EQ(format_of("/nothing"), "safetensors");
  EXPECT_EQ(format_of("/torchscript"), "safetensors");
  const testing::TempDir folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(brings_network(pipe));
}

TEST(NetworkFile, BothFormatsAreLoaded) {
  LoadOptions options;
  options.normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  const std::string folder = testing::golden_dir();
  EXPECT_EQ(load_network_file(folder + "/exported/tiny.pt2", options)->engine(),
            "exported");
  EXPECT_EQ(
      load_network_file(folder + "/torchscript/traced.pt", options)->engine(),
      "torchscript");
}

}  // namespace
}  // namespace sotta
