#include "models/vit.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/models/weights.h"

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

VitSpec tiny() {
  return {VitSpec::Names::kTimm, 8, 4, 12, 2, 3, 20, 3, 5};
}

std::unique_ptr<Classifier> network(const VitSpec& spec) {
  return make_vit(spec, random_vit_state(spec, Rng(1)),
                  {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}});
}

Shapes shapes_of(const NetworkTensors& tensors) {
  Shapes shapes;
  for (const auto& tensor : tensors.body)
    shapes[tensor.name] = tensor.shape;
  return shapes;
}

int64_t parameters(const VitSpec& spec) {
  const VitPlan plan(spec);
  return plan.body_size() + 2 * plan.norm_channels();
}

TEST(Vit, HasTheParametersOfPublishedModels) {
  EXPECT_EQ(parameters(named_vit("vit_small", 1000)), 22050664);
  EXPECT_EQ(parameters(named_vit("vit_base", 1000)), 86567656);
}

TEST(Vit, InfersBackFromItsTensorsUnderEveryonesNames) {
  for (const auto names : {VitSpec::Names::kTimm, VitSpec::Names::kTorchvision,
                           VitSpec::Names::kTorchvisionOld}) {
    VitSpec spec = named_vit("vit_base", 7);
    spec.names = names;
    const VitSpec inferred = infer_vit(shapes_of(VitPlan(spec)), 0, "x");
    EXPECT_EQ(inferred.names, names);
    EXPECT_EQ(inferred.image, 224);
    EXPECT_EQ(inferred.patch, 16);
    EXPECT_EQ(inferred.dim, 768);
    EXPECT_EQ(inferred.depth, 12);
    EXPECT_EQ(inferred.heads, 12);
    EXPECT_EQ(inferred.mlp, 3072);
    EXPECT_EQ(inferred.classes, 7);
  }
}

TEST(Vit, HeadsThatNothingSaysAreRefused) {
  const Shapes shapes = shapes_of(VitPlan(tiny()));
  EXPECT_EQ(infer_vit(shapes, 3, "x").heads, 3);
  for (const int64_t heads : {0, 5})
    testing::expect_error(
        ErrorKind::kBadFormat,
        "x: expected the number of attention heads, which divides 12, in the "
        "metadata heads",
        [&] { infer_vit(shapes, heads, "x"); });
  VitSpec huge = tiny();
  huge.dim = 1280;
  EXPECT_EQ(infer_vit(shapes_of(VitPlan(huge)), 0, "x").heads, 16);
}

TEST(Vit, SaysWhatATensorFileLacks) {
  Shapes without_positions = shapes_of(VitPlan(tiny()));
  without_positions.erase("pos_embed");
  testing::expect_error(
      ErrorKind::kBadFormat,
      "x: not a vision transformer with torchvision's or timm's names, "
      "expected a tensor pos_embed of 3 dimensions",
      [&] { infer_vit(without_positions, 3, "x"); });
  Shapes oblong = shapes_of(VitPlan(tiny()));
  oblong["pos_embed"] = {1, 7, 12};
  testing::expect_error(ErrorKind::kBadFormat, "a square of patches",
                        [&] { infer_vit(oblong, 3, "x"); });
}

TEST(Vit, MetadataThatAreNoNumbersAreRefused) {
  for (const char* heads : {"", "0", "-2", "two", "2.5", "99999999999999999"}) {
    TensorFile file = testing::Golden("networks/vit_timm").file();
    file.metadata["heads"] = heads;
    testing::expect_error(ErrorKind::kBadFormat, "metadata heads",
                          [&] { make_classifier(file, {}, "x"); });
  }
}

TEST(Vit, OtherSizesOfImagesAreRefused) {
  const auto model = network(tiny());
  testing::expect_error(ErrorKind::kInvalid,
                        "forward: expected images of 8x8, got 8x12", [&] {
                          model->forward(at::rand({2, 3, 8, 12}),
                                         model->source(), NormStats::running());
                        });
}

TEST(Vit, GradientsReachAffineBodyAndImages) {
  const auto model = network(tiny());
  ModelState state = model->source().clone();
  state.affine.requires_grad_();
  state.body.requires_grad_();
  const at::Tensor images = at::rand({4, 3, 8, 8}).requires_grad_();
  const at::Tensor loss =
      model->forward(images, state, NormStats::batch()).logits.square().sum();
  for (const auto& gradient :
       torch::autograd::grad({loss}, {state.affine, state.body, images}))
    EXPECT_GT(gradient.abs().sum().item<double>(), 0);
}

TEST(Vit, ABfloat16BodyIsComputedInAndLogitsStayFloat) {
  const auto model = network(tiny());
  const at::Tensor images = at::rand({4, 3, 8, 8});
  ModelState rounded = model->source();
  rounded.body = rounded.body.to(at::kBFloat16);
  const auto exact =
      model->forward(images, model->source(), NormStats::running());
  const auto coarse = model->forward(images, rounded, NormStats::running());
  EXPECT_EQ(coarse.logits.scalar_type(), at::kFloat);
  EXPECT_TRUE(coarse.logits.allclose(exact.logits, 0.1, 0.1));
  EXPECT_FALSE(coarse.logits.equal(exact.logits));
}

TEST(Vit, SpecificationsThatDoNotDivideAreRefused) {
  VitSpec spec = tiny();
  const ModelState state = random_vit_state(spec, Rng(1));
  spec.heads = 5;
  EXPECT_THROW(make_vit(spec, state, {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}}),
               Error);
}

}  // namespace
}  // namespace sotta
