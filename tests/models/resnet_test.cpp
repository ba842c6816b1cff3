#include "models/resnet.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

const Normalisation kPlain = {{0.5, 0.4, 0.3}, {0.2, 0.25, 0.3}};

ResNetSpec tiny_spec() {
  ResNetSpec spec;
  spec.widths = {4, 6};
  spec.blocks = {1, 1};
  spec.classes = 5;
  return spec;
}

std::unique_ptr<Classifier> tiny_network() {
  return make_resnet(tiny_spec(), random_resnet_state(tiny_spec(), Rng(1)),
                     kPlain);
}

int64_t parameters(const std::string& name, int64_t classes) {
  const ModelState state =
      random_resnet_state(named_resnet(name, classes), Rng(0));
  return state.body.numel() + state.affine.numel();
}

// Counts of the original networks, from their papers and model zoos.
TEST(ResNet, NamedNetworksHaveTheKnownNumberOfParameters) {
  EXPECT_EQ(parameters("resnet18", 10), 11173962);
  EXPECT_EQ(parameters("resnet18", 100), 11220132);
  EXPECT_EQ(parameters("resnet18-imagenet", 1000), 11689512);
  EXPECT_EQ(parameters("resnet34-imagenet", 1000), 21797672);
  EXPECT_EQ(parameters("resnet50-imagenet", 1000), 25557032);
}

// Counted by hand: a convolution of 1 x 1 where a shortcut changes its width or
// size.
TEST(ResNet, NetworksForSmallImagesHaveTheirNumberOfParameters) {
  EXPECT_EQ(parameters("resnet8", 10), 78042);
  EXPECT_EQ(parameters("resnet20", 10), 272474);
  EXPECT_EQ(parameters("resnet32", 10), 466906);
  EXPECT_EQ(parameters("resnet34", 10), 21282122);
  EXPECT_EQ(parameters("resnet50", 10), 23520842);
}

TEST(ResNet, EighteenLayersHaveTwentyNormLayersOf9600Parameters) {
  const auto spec = named_resnet("resnet18", 10);
  const auto model = make_resnet(spec, random_resnet_state(spec, Rng(0)),
                                 {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}});
  EXPECT_EQ(model->norm_layers().size(), 20u);
  EXPECT_EQ(model->source().affine.numel(), 9600);
  EXPECT_EQ(model->norm_layers()[0].name, "bn1");
  EXPECT_EQ(model->norm_layers().back().name, "layer4.1.bn2");
}

TEST(ResNet, EveryNamedNetworkRunsForwardAndInfersBack) {
  for (const auto& name : resnet_names()) {
    const ResNetSpec spec = named_resnet(name, 7, 1);
    const auto model =
        make_resnet(spec, random_resnet_state(spec, Rng(0)), {{0.5}, {0.2}});
    const auto result = model->forward(at::rand({2, 1, 32, 32}),
                                       model->source(), NormStats::running());
    EXPECT_EQ(result.logits.sizes(), at::IntArrayRef({2, 7})) << name;

    std::map<std::string, std::vector<int64_t>> shapes;
    for (const auto& [tensor, value] : model->named_tensors(model->source()))
      shapes[tensor] = value.sizes().vec();
    const ResNetSpec inferred = infer_resnet(shapes, name, spec.groups);
    EXPECT_EQ(inferred.stem, spec.stem) << name;
    EXPECT_EQ(inferred.block, spec.block) << name;
    EXPECT_EQ(inferred.widths, spec.widths) << name;
    EXPECT_EQ(inferred.blocks, spec.blocks) << name;
    EXPECT_EQ(inferred.channels, 1) << name;
    EXPECT_EQ(inferred.classes, 7) << name;
    EXPECT_EQ(inferred.groups, spec.groups) << name;
  }
}

TEST(ResNet, LogitsAreTheLinearLayerOfTheFeatures) {
  const auto model = tiny_network();
  const auto result = model->forward(at::rand({3, 3, 8, 8}), model->source(),
                                     NormStats::running());
  const auto tensors = model->named_tensors(model->source());
  const at::Tensor expected =
      result.features.matmul(tensors.at("fc.weight").t()) +
      tensors.at("fc.bias");
  EXPECT_TRUE(result.logits.allclose(expected, 1e-5, 1e-6));
}

TEST(ResNet, BytesAndTheirFractionsGiveTheSameBits) {
  const auto model = tiny_network();
  const at::Tensor bytes = at::randint(256, {4, 3, 8, 8}).to(at::kByte);
  const auto run = [&](const at::Tensor& images) {
    return model->forward(images, model->source(), NormStats::batch()).logits;
  };
  EXPECT_TRUE(run(bytes).equal(run(bytes.to(at::kFloat).div(255))));
}

TEST(ResNet, RunningStatisticsKeepSamplesIndependent) {
  const auto model = tiny_network();
  const at::Tensor images = at::rand({4, 3, 8, 8});
  const auto logits = [&](const at::Tensor& some, NormStats stats) {
    return model->forward(some, model->source(), stats).logits;
  };
  const at::Tensor alone = logits(images.slice(0, 2, 3), NormStats::running());
  const at::Tensor together = logits(images, NormStats::running());
  EXPECT_TRUE(alone[0].allclose(together[2], 1e-5, 1e-6));
  EXPECT_FALSE(logits(images.slice(0, 2, 3), NormStats::batch())[0].allclose(
      logits(images, NormStats::batch())[2]));
}

TEST(ResNet, ForwardChangesNothing) {
  const auto model = tiny_network();
  const ModelState before = model->source().clone();
  for (const auto stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.1)})
    model->forward(at::rand({4, 3, 8, 8}), model->source(), stats);
  EXPECT_TRUE(before.body.equal(model->source().body));
  EXPECT_TRUE(before.affine.equal(model->source().affine));
  EXPECT_TRUE(before.running_mean.equal(model->source().running_mean));
  EXPECT_TRUE(before.running_var.equal(model->source().running_var));
}

TEST(ResNet, GradientsReachAffineBodyAndImages) {
  const auto model = tiny_network();
  ModelState state = model->source().clone();
  state.affine.requires_grad_();
  state.body.requires_grad_();
  const at::Tensor images = at::rand({4, 3, 8, 8}).requires_grad_();
  const at::Tensor loss =
      model->forward(images, state, NormStats::batch()).logits.square().sum();
  const auto gradients =
      torch::autograd::grad({loss}, {state.affine, state.body, images});
  for (const auto& gradient : gradients)
    EXPECT_GT(gradient.abs().sum().item<double>(), 0);
}

TEST(ResNet, ChannelsLastImagesGiveTheSameNumbers) {
  const auto model = tiny_network();
  const at::Tensor images = at::rand({4, 3, 8, 8});
  for (const auto stats : {NormStats::running(), NormStats::batch()}) {
    const auto plain = model->forward(images, model->source(), stats);
    const auto other =
        model->forward(images.contiguous(at::MemoryFormat::ChannelsLast),
                       model->source(), stats);
    EXPECT_TRUE(other.logits.allclose(plain.logits, 1e-4, 1e-5));
  }
}

TEST(ResNet, ABfloat16BodyIsComputedInAndLogitsStayFloat) {
  const auto model = tiny_network();
  const at::Tensor images = at::rand({4, 3, 8, 8});
  ModelState rounded = model->source();
  rounded.body = rounded.body.to(at::kBFloat16);
  for (const auto stats : {NormStats::running(), NormStats::batch()}) {
    const auto exact = model->forward(images, model->source(), stats);
    const auto coarse = model->forward(images, rounded, stats);
    EXPECT_EQ(coarse.logits.scalar_type(), at::kFloat);
    EXPECT_EQ(coarse.features.scalar_type(), at::kFloat);
    EXPECT_TRUE(coarse.logits.allclose(exact.logits, 0.05, 0.05));
    EXPECT_FALSE(coarse.logits.equal(exact.logits));
  }
}

TEST(ResNet, MadeForBfloat16ItRoundsInEveryKindOfPass) {
  const auto exact = tiny_network();
  const auto coarse =
      make_resnet(tiny_spec(), exact->source(), kPlain, {Precision::kBfloat16});
  const at::Tensor images = at::rand({4, 3, 8, 8});

  for (const auto stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.1)}) {
    ModelState state = exact->source().clone_norm();
    state.affine.requires_grad_();
    const auto result = coarse->forward(images, state, stats);
    EXPECT_EQ(result.logits.scalar_type(), at::kFloat);
    const auto wanted = exact->forward(images, exact->source(), stats).logits;
    EXPECT_TRUE(result.logits.allclose(wanted, 0.05, 0.05));
    EXPECT_FALSE(result.logits.equal(wanted));
    const auto gradient =
        torch::autograd::grad({result.logits.sum()}, {state.affine})[0];
    EXPECT_EQ(gradient.scalar_type(), at::kFloat);
    EXPECT_GT(gradient.abs().sum().item<double>(), 0);
  }
}

TEST(ResNet, RefusesImagesThatDoNotFit) {
  const auto model = tiny_network();
  const auto run = [&](const at::Tensor& images) {
    model->forward(images, model->source(), NormStats::running());
  };
  EXPECT_THROW(run(at::rand({4, 1, 8, 8})), Error);
  EXPECT_THROW(run(at::rand({3, 8, 8})), Error);
  EXPECT_THROW(run(at::rand({4, 3, 8, 8}, at::kDouble)), Error);
}

TEST(ResNet, RefusesAStateOfAnotherNetwork) {
  const ModelState other =
      random_resnet_state(named_resnet("resnet8", 10), Rng(0));
  EXPECT_THROW(make_resnet(tiny_spec(), other, kPlain), Error);
  EXPECT_THROW(
      make_resnet(tiny_spec(), random_resnet_state(tiny_spec(), Rng(0)),
                  {{0.5}, {0.5}}),
      Error);
}

TEST(ResNet, UnknownNameSuggestsAKnownOne) {
  try {
    named_resnet("resnet81", 10);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("resnet8"), std::string::npos);
  }
}

TEST(ResNet, RefusesTensorsThatAreNotAResNet) {
  EXPECT_THROW(infer_resnet({}, "x"), Error);
  EXPECT_THROW(infer_resnet({{"conv1.weight", {8, 3, 5, 5}}}, "x"), Error);
  EXPECT_THROW(
      infer_resnet({{"conv1.weight", {8, 3, 3, 3}}, {"fc.weight", {10, 8}}},
                   "x"),
      Error);
}

TEST(ResNet, SaysWhatATensorFileLacks) {
  const auto refused =
      [](const std::map<std::string, std::vector<int64_t>>& shapes,
         const std::string& problem) {
        testing::expect_error(ErrorKind::kBadFormat, "x: " + problem,
                              [&] { infer_resnet(shapes, "x"); });
      };
  const std::string lacks =
      "not a ResNet with torchvision's names, expected a tensor ";
  refused({}, lacks + "conv1.weight of 4 dimensions");
  refused({{"conv1.weight", {8, 3, 3}}}, lacks + "conv1.weight of 4");
  refused({{"conv1.weight", {8, 3, 5, 5}}},
          "expected a first convolution of 3x3 (CIFAR) or 7x7 (ImageNet), got "
          "5x5");
  refused({{"conv1.weight", {8, 3, 3, 3}}},
          lacks + "fc.weight of 2 dimensions");
  refused({{"conv1.weight", {8, 3, 7, 7}}, {"fc.weight", {10, 8}}},
          lacks + "layer1.0.conv1.weight of 4 dimensions");
}

TEST(ResNet, TakesImagesOfOneOrManyChannelsByItsFirstLayer) {
  const ResNetSpec spec =
      infer_resnet({{"conv1.weight", {8, 4, 7, 7}},
                    {"fc.weight", {10, 8}},
                    {"layer1.0.conv1.weight", {8, 8, 3, 3}},
                    {"layer1.1.conv1.weight", {8, 8, 3, 3}},
                    {"layer2.0.conv1.weight", {6, 8, 3, 3}}},
                   "x");
  EXPECT_EQ(spec.stem, ResNetSpec::Stem::kImagenet);
  EXPECT_EQ(spec.block, ResNetSpec::Block::kBasic);
  EXPECT_EQ(spec.channels, 4);
  EXPECT_EQ(spec.classes, 10);
  EXPECT_EQ(spec.widths, (std::vector<int64_t>{8, 6}));
  EXPECT_EQ(spec.blocks, (std::vector<int64_t>{2, 1}));
}

}  // namespace
}  // namespace sotta
