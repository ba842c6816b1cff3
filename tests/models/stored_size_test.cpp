#include "models/stored_size.h"

#include <gtest/gtest.h>

#include "sotta/data/safetensors.h"

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

std::string golden(const std::string& name) {
  return std::string(testing::golden_dir()) + "/" + name;
}

TEST(StoredSize, IsInTheMetadataOrTheShapesOfAVit) {
  EXPECT_FALSE(stored_size(golden("networks/wide_resnet.safetensors")));
  EXPECT_FALSE(stored_size(golden("torchscript/mixed.pt")));
  EXPECT_EQ(stored_size(golden("networks/vit_timm.safetensors")), 16);
  EXPECT_EQ(stored_size(golden("networks/vit_torchvision.safetensors")), 16);

  const testing::TempDir folder;
  TensorFile file = testing::Golden("networks/wide_resnet").file();
  file.metadata["size"] = "32";
  write_safetensors(folder / "sized.safetensors", file);
  EXPECT_EQ(stored_size(folder / "sized.safetensors"), 32);
  file.metadata["size"] = "32x32";
  write_safetensors(folder / "sized.safetensors", file);
  testing::expect_error(ErrorKind::kBadFormat, "metadata size",
                        [&] { stored_size(folder / "sized.safetensors"); });
}

TEST(StoredSize, ChannelsAreThoseOfTheFirstLayer) {
  EXPECT_EQ(stored_channels(golden("networks/vit_timm.safetensors")), 3);
  EXPECT_EQ(stored_channels(golden("networks/wide_resnet.safetensors")), 3);
  EXPECT_FALSE(stored_channels(golden("torchscript/mixed.pt")));
}

TEST(StoredSize, NormalisationIsMeanAndStd) {
  EXPECT_TRUE(
      has_stored_normalisation(golden("networks/wide_resnet.safetensors")));
  EXPECT_FALSE(has_stored_normalisation(golden("torchscript/mixed.pt")));
}

}  // namespace
}  // namespace sotta
