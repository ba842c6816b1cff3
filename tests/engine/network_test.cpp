#include "engine/network.h"

#include <gtest/gtest.h>

#include "engine/network_layout.h"
#include "tests/engine/models.h"

namespace sotta::engine {
namespace {

TEST(NetworkLayout, FindsTheLayersOfACifarResnet) {
  const auto model = make_model("resnet20");
  const auto layout = read_layout(*model);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->stem.shape.outputs, 16);
  ASSERT_EQ(layout->blocks.size(), 9);
  EXPECT_FALSE(layout->blocks[0].shortcut);
  ASSERT_TRUE(layout->blocks[3].shortcut);
  EXPECT_EQ(layout->blocks[3].path[0].shape.stride, 2);
  EXPECT_EQ(layout->blocks[3].shortcut->shape.kernel, 1);
  EXPECT_EQ(model->norm_layers()[layout->blocks[3].path[1].norm].name,
            "layer2.0.bn2");
  EXPECT_EQ(layout->features(), 64);
}

TEST(NetworkLayout, BottlenecksHaveTheirStrideInTheMiddle) {
  const auto layout = read_layout(*make_model("resnet50"));
  ASSERT_TRUE(layout);
  const BlockLayout& block = layout->blocks[3];
  ASSERT_EQ(block.path.size(), 3);
  EXPECT_EQ(block.path[0].shape.stride, 1);
  EXPECT_EQ(block.path[1].shape.stride, 2);
  EXPECT_EQ(block.path[2].shape.outputs, 512);
  EXPECT_EQ(block.shortcut->shape.stride, 2);
  EXPECT_EQ(layout->features(), 2048);
}

TEST(NetworkLayout, ImagenetsStemHasAStrideAndPools) {
  const auto layout = read_layout(*make_model("imagenet"));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->stem.shape.kernel, 7);
  EXPECT_EQ(layout->stem.shape.stride, 2);
  EXPECT_TRUE(layout->pools);
}

TEST(NetworkLayout, OtherNetworksAreNotCovered) {
  EXPECT_FALSE(read_layout(*make_model("uneven")));
}

TEST(Network, WorkspacesFollowTheImagesSize) {
  const auto model = make_model("resnet8");
  const Network network(*read_layout(*model), model->norm_layers(), false);
  const auto space = network.make_workspace(2, 13, 10);
  EXPECT_EQ(space->planes.front().height, 13);
  EXPECT_EQ(space->planes.back().channels, 64);
  EXPECT_EQ(space->planes.back().height, 4);  // 13, 7, 4
  EXPECT_EQ(space->planes.back().width, 3);   // 10, 5, 3
}

TEST(Network, LowMemoryTakesTwoThirdsOfTheActivations) {
  const auto model = make_model("resnet18");
  const auto numbers = [&](bool low_memory) {
    const Network network(*read_layout(*model), model->norm_layers(),
                          low_memory);
    return network.make_workspace(1, 32, 32)->memory.size();
  };
  EXPECT_LT(3 * numbers(true), 2 * numbers(false));
}

}  // namespace
}  // namespace sotta::engine
