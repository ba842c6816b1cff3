#include "models/wide_resnet.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/models/weights.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

std::unique_ptr<Classifier> network(const WideResNetSpec& spec) {
  return make_wide_resnet(spec, WideResNetPlan(spec).random_state(Rng(1)),
                          {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}});
}

WideResNetSpec tiny() {
  return {4, {6, 8}, 2, 3, 5};
}

Shapes shapes_of(const Classifier& model) {
  Shapes shapes;
  for (const auto& [name, tensor] : model.named_tensors(model.source()))
    shapes[name] = tensor.sizes().vec();
  return shapes;
}

// As torch counts them: parameters without running averages.
int64_t parameters(const std::string& name) {
  const WideResNetPlan plan(named_wide_resnet(name, 10));
  return plan.body_size() + 2 * plan.norm_channels();
}

TEST(WideResNet, HasTheParametersOfThePaper) {
  EXPECT_EQ(parameters("wide_resnet28_10"), 36479194);
  EXPECT_EQ(parameters("wide_resnet40_2"), 2243546);
}

TEST(WideResNet, InfersBackFromItsTensors) {
  for (const auto& name : wide_resnet_names()) {
    const WideResNetSpec spec = named_wide_resnet(name, 7);
    const WideResNetPlan plan(spec);
    Shapes shapes;
    for (const auto& tensor : plan.body)
      shapes[tensor.name] = tensor.shape;
    EXPECT_TRUE(looks_like_wide_resnet(shapes));
    const WideResNetSpec inferred = infer_wide_resnet(shapes, name);
    EXPECT_EQ(inferred.stem, spec.stem);
    EXPECT_EQ(inferred.widths, spec.widths);
    EXPECT_EQ(inferred.blocks, spec.blocks);
    EXPECT_EQ(inferred.classes, 7);
  }
}

TEST(WideResNet, UnknownNamesAreRefused) {
  testing::expect_error(ErrorKind::kInvalid, "wide_resnet40_2",
                        [] { named_wide_resnet("wide_resnet40_3", 10); });
}

TEST(WideResNet, SaysWhatATensorFileLacks) {
  const Shapes all = shapes_of(*network(tiny()));
  Shapes without_head = all;
  without_head.erase("fc.weight");
  testing::expect_error(
      ErrorKind::kBadFormat,
      "x: not a wide residual network, expected a tensor fc.weight of 2 "
      "dimensions",
      [&] { infer_wide_resnet(without_head, "x"); });
  Shapes alike = all;
  alike["block2.layer.0.conv1.weight"] = {6, 6, 3, 3};
  testing::expect_error(ErrorKind::kBadFormat, "stages of different widths",
                        [&] { infer_wide_resnet(alike, "x"); });
}

TEST(WideResNet, EveryMismatchIsInOneMessage) {
  const auto model = network(tiny());
  TensorFile file = export_weights(*model, model->source());
  file.tensors["extra"] = file.tensors["fc.bias"];
  file.tensors.erase("block1.layer.1.bn2.running_mean");
  testing::expect_error(
      ErrorKind::kBadFormat,
      "1 missing: block1.layer.1.bn2.running_mean, 1 unexpected: extra",
      [&] { make_classifier(file, {}, "x"); });
}

TEST(WideResNet, GradientsReachAffineBodyAndImages) {
  const auto model = network(tiny());
  for (const auto stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.3)}) {
    ModelState state = model->source().clone();
    state.affine.requires_grad_();
    state.body.requires_grad_();
    const at::Tensor images = at::rand({4, 3, 8, 8}).requires_grad_();
    const at::Tensor loss =
        model->forward(images, state, stats).logits.square().sum();
    for (const auto& gradient :
         torch::autograd::grad({loss}, {state.affine, state.body, images}))
      EXPECT_GT(gradient.abs().sum().item<double>(), 0);
  }
}

TEST(WideResNet, ForwardChangesNothing) {
  const auto model = network(tiny());
  const ModelState before = model->source().clone();
  const at::Tensor images = at::rand({4, 3, 8, 8});
  const at::Tensor first =
      model->forward(images, model->source(), NormStats::batch()).logits;
  EXPECT_TRUE(model->forward(images, model->source(), NormStats::batch())
                  .logits.equal(first));
  EXPECT_TRUE(before.running_mean.equal(model->source().running_mean));
  EXPECT_TRUE(before.affine.equal(model->source().affine));
}

TEST(WideResNet, ABfloat16BodyIsComputedInAndLogitsStayFloat) {
  const auto model = network(tiny());
  const at::Tensor images = at::rand({4, 3, 8, 8});
  ModelState rounded = model->source();
  rounded.body = rounded.body.to(at::kBFloat16);
  for (const auto stats : {NormStats::running(), NormStats::batch()}) {
    const auto exact = model->forward(images, model->source(), stats);
    const auto coarse = model->forward(images, rounded, stats);
    EXPECT_EQ(coarse.logits.scalar_type(), at::kFloat);
    EXPECT_TRUE(coarse.logits.allclose(exact.logits, 0.05, 0.05));
    EXPECT_FALSE(coarse.logits.equal(exact.logits));
  }
}

TEST(WideResNet, RefusesAStateOfAnotherNetwork) {
  EXPECT_THROW(
      make_wide_resnet(tiny(), WideResNetPlan({4, {6}, 1}).random_state(Rng(1)),
                       {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}}),
      Error);
}

}  // namespace
}  // namespace sotta
