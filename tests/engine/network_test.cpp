#include "engine/cpu/network/network.h"

#include <string>
#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <gtest/gtest.h>

#include "engine/cpu/network/network_layout.h"
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
  EXPECT_TRUE(layout->has_max_pool);
}

TEST(NetworkLayout, PreActivationHasTheNormLayersThatReadEachResult) {
  const auto model = make_model("wide");
  const auto layout = read_layout(*model);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->pre_activation);
  const auto name = [&](const ConvNormLayout& layer) {
    return model->norm_layers()[layer.norm].name;
  };
  EXPECT_EQ(name(layout->stem), "block1.layer.0.bn1");
  ASSERT_EQ(layout->blocks.size(), 6);
  EXPECT_EQ(name(layout->blocks[2].path[0]), "block2.layer.0.bn2");
  EXPECT_EQ(name(layout->blocks[2].path[1]), "block2.layer.1.bn1");
  EXPECT_EQ(layout->blocks[2].shortcut->shape.stride, 2);
  EXPECT_FALSE(layout->blocks[3].shortcut);
  EXPECT_EQ(name(layout->blocks[5].path[1]), "bn1");
  EXPECT_EQ(layout->features(), 96);
}

TEST(NetworkLayout, OtherNetworksAreNotCovered) {
  EXPECT_FALSE(read_layout(*make_model("uneven")));
}

TEST(Network, WorkspacesFollowTheImagesSize) {
  const auto model = make_model("resnet8");
  const Network network(*read_layout(*model), model->norm_layers(), {});
  const auto space = network.make_workspace(2, 13, 10);
  EXPECT_EQ(space->pre_norm_shapes.front().height, 13);
  EXPECT_EQ(space->pre_norm_shapes.back().channels, 64);
  EXPECT_EQ(space->pre_norm_shapes.back().height, 4);  // 13, 7, 4
  EXPECT_EQ(space->pre_norm_shapes.back().width, 3);   // 10, 5, 3
}

// Forward and backward passes in one workspace, without and with low memory.
class SecondPass
    : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  SecondPass()
      : model_(make_model(std::get<0>(GetParam()))),
        layout_(*read_layout(*model_)),
        network_(layout_, model_->norm_layers(),
                 NetworkOptions{std::get<1>(GetParam())}),
        space_(network_.make_workspace(2, 32, 32)),
        images_(make_images(2, 32, 32)),
        affine_(model_->source().affine.clone()),
        mean_(at::empty_like(model_->source().running_mean)),
        var_(at::empty_like(mean_)) {}

  NetworkInput input() const {
    const ModelState& state = model_->source();
    return {images_.data_ptr<float>(),
            2,
            affine_.data_ptr<float>(),
            state.running_mean.data_ptr<float>(),
            state.running_var.data_ptr<float>(),
            NormStats::batch(),
            mean_.data_ptr<float>(),
            var_.data_ptr<float>()};
  }
  at::Tensor forward(Workspace& space) const {
    const at::Tensor features = at::empty({2, network_.features()});
    network_.forward(input(), 2, space, features.data_ptr<float>());
    return features;
  }
  at::Tensor gradient_of_pass(Workspace& space) const {
    const at::Tensor features = forward(space);
    const at::Tensor gradient = at::empty_like(affine_);
    network_.backward(
        input(), 2, space,
        {features.data_ptr<float>(), gradient.data_ptr<float>(), nullptr});
    return gradient;
  }
  at::Tensor afresh() const {
    return gradient_of_pass(*network_.make_workspace(2, 32, 32));
  }

  std::unique_ptr<Classifier> model_;
  NetworkLayout layout_;
  Network network_;
  std::unique_ptr<Workspace> space_;
  at::Tensor images_, affine_, mean_, var_;
};

TEST_P(SecondPass, TakesTheStemsOutputOfTheFirst) {
  gradient_of_pass(*space_);
  affine_ += 0.125;
  EXPECT_TRUE(gradient_of_pass(*space_).equal(afresh()));

  // Sums that are not made again: the mean is the centre.
  const int64_t channels = layout_.stem.shape.outputs;
  space_->stem.sums.total(0, channels);
  forward(*space_);
  EXPECT_TRUE(mean_.slice(0, 0, channels)
                  .equal(model_->source().running_mean.slice(0, 0, channels)));
}

TEST_P(SecondPass, NoticesOtherImages) {
  gradient_of_pass(*space_);
  images_[1][2][3] += 0.5;
  EXPECT_TRUE(gradient_of_pass(*space_).equal(afresh()));
}

INSTANTIATE_TEST_SUITE_P(
    All, SecondPass,
    ::testing::Combine(::testing::Values("resnet8", "imagenet", "wide"),
                       ::testing::Bool()));

TEST(Network, LowMemoryTakesTwoThirdsOfTheActivations) {
  const auto model = make_model("resnet18");
  const auto numbers = [&](bool low_memory) {
    const Network network(*read_layout(*model), model->norm_layers(),
                          NetworkOptions{low_memory});
    return network.make_workspace(1, 32, 32)->memory.size();
  };
  EXPECT_LT(3 * numbers(true), 2 * numbers(false));
}

}  // namespace
}  // namespace sotta::engine
