#include "engine/fused.h"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "tests/engine/blocked.h"
#include "tests/engine/models.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_counts.h"

namespace sotta::engine {
namespace {

struct Case {
  std::string name;
  std::string model;
  NormStats stats;
  int64_t count, height, width;
};

class EveryPass : public ::testing::TestWithParam<Case> {
 protected:
  EveryPass()
      : reference_(make_model(GetParam().model)),
        fused_(make_fused(make_model(GetParam().model), /*low_memory=*/false)),
        images_(make_images(GetParam().count, GetParam().height,
                            GetParam().width)) {}

  std::unique_ptr<Classifier> reference_, fused_;
  at::Tensor images_;
};

// Everything that a pass gives, with gradients of a loss of the logits.
struct Outcome {
  ForwardResult result;
  at::Tensor affine, images;
};

Outcome run(const Classifier& model, const at::Tensor& images,
            NormStats stats) {
  ModelState state = model.source();
  state.affine = as_leaf(state.affine);
  const at::Tensor pixels = as_leaf(images);
  Outcome outcome;
  outcome.result = model.forward(pixels, state, stats);
  auto gradients = gradients_of(entropy(outcome.result.logits).sum(),
                                {state.affine, pixels});
  outcome.affine = gradients[0];
  outcome.images = gradients[1];
  return outcome;
}

void expect_same_bits(const Outcome& found, const Outcome& expected) {
  EXPECT_TRUE(found.result.features.equal(expected.result.features));
  EXPECT_TRUE(found.affine.equal(expected.affine));
  EXPECT_TRUE(found.images.equal(expected.images));
  if (!expected.result.batch_mean.defined()) return;
  EXPECT_TRUE(found.result.batch_mean.equal(expected.result.batch_mean));
  EXPECT_TRUE(found.result.batch_var.equal(expected.result.batch_var));
}

TEST_P(EveryPass, PredictsLikeLibtorch) {
  const at::NoGradGuard no_grad;
  const auto expected =
      reference_->forward(images_, reference_->source(), GetParam().stats);
  for_every_target([&] {
    const auto found =
        fused_->forward(images_, fused_->source(), GetParam().stats);
    expect_close(found.logits, expected.logits, 1e-4);
    expect_close(found.features, expected.features, 1e-4);
    ASSERT_EQ(found.batch_mean.defined(), expected.batch_mean.defined());
    if (!found.batch_mean.defined()) return;
    expect_close(found.batch_mean, expected.batch_mean, 1e-4);
    expect_close(found.batch_var, expected.batch_var, 1e-4);
  });
}

TEST_P(EveryPass, HasLibtorchsGradients) {
  const Outcome expected = run(*reference_, images_, GetParam().stats);
  for_every_target([&] {
    const Outcome found = run(*fused_, images_, GetParam().stats);
    expect_close(found.result.logits.detach(), expected.result.logits.detach(),
                 1e-4);
    expect_close(found.affine, expected.affine, 1e-3);
    expect_close(found.images, expected.images, 1e-3);
  });
}

TEST_P(EveryPass, GivesTheSameBitsAtAnyThreadCountAndTarget) {
  const testing::ThreadCount one(1);
  const Outcome expected = run(*fused_, images_, GetParam().stats);
  for_every_target([&] {
    for (const int count : {1, 2, 4}) {
      const testing::ThreadCount threads(count);
      expect_same_bits(run(*fused_, images_, GetParam().stats), expected);
    }
  });
}

TEST_P(EveryPass, GivesTheSameBitsWithLowMemory) {
  const auto low = make_fused(make_model(GetParam().model), true);
  const Outcome expected = run(*fused_, images_, GetParam().stats);
  // So that memory is made for more images.
  run(*low, at::cat({images_, images_.slice(0, 0, 1)}), GetParam().stats);
  for (const int count : {3, 1}) {
    const testing::ThreadCount threads(count);
    expect_same_bits(run(*low, images_, GetParam().stats), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryPass,
    ::testing::Values(
        Case{"running", "resnet8", NormStats::running(), 5, 16, 16},
        Case{"batch", "resnet8", NormStats::batch(), 5, 16, 16},
        Case{"blended", "resnet8", NormStats::blended(0.3), 5, 16, 16},
        Case{"one_image", "resnet8", NormStats::batch(), 1, 16, 16},
        Case{"odd_size", "resnet8", NormStats::batch(), 3, 13, 18},
        Case{"odd_size_running", "resnet8", NormStats::running(), 3, 9, 21},
        Case{"many_images", "resnet8", NormStats::running(), 67, 8, 8},
        Case{"deeper", "resnet20", NormStats::blended(0.05), 4, 8, 8},
        Case{"wide", "resnet18", NormStats::batch(), 4, 16, 16},
        Case{"wide_running", "resnet18", NormStats::running(), 2, 8, 8},
        Case{"narrow", "bottlenecks", NormStats::running(), 5, 16, 16},
        Case{"narrow_batch", "bottlenecks", NormStats::batch(), 3, 13, 18},
        Case{"narrow_blended", "bottlenecks", NormStats::blended(0.3), 9, 8, 8},
        Case{"narrow_one", "bottlenecks", NormStats::batch(), 1, 16, 16},
        Case{"large", "imagenet", NormStats::running(), 3, 64, 64},
        Case{"large_batch", "imagenet", NormStats::batch(), 5, 33, 50},
        Case{"large_blended", "imagenet", NormStats::blended(0.3), 2, 47, 32},
        Case{"many_large", "imagenet", NormStats::running(), 34, 72, 72},
        Case{"one_pixel", "imagenet", NormStats::running(), 2, 1, 1},
        Case{"large_narrow", "imagenet-bottlenecks", NormStats::running(), 5,
             40, 40},
        Case{"pre_activation", "wide", NormStats::running(), 5, 16, 16},
        Case{"pre_activation_batch", "wide", NormStats::batch(), 5, 16, 16},
        Case{"pre_activation_blended", "wide", NormStats::blended(0.3), 3, 13,
             18},
        Case{"pre_activation_one", "wide", NormStats::batch(), 1, 16, 16},
        Case{"pre_activation_many", "wide", NormStats::running(), 67, 8, 8},
        Case{"pre_activation_plain", "wide_resnet10_1", NormStats::batch(), 4,
             9, 21},
        Case{"wide_resnet", "wide_resnet40_2", NormStats::blended(0.05), 3, 16,
             16},
        Case{"wide_resnet_running", "wide_resnet40_2", NormStats::running(), 3,
             32, 32},
        Case{"large_narrow_batch", "imagenet-bottlenecks", NormStats::batch(),
             3, 64, 37}),
    [](const auto& one) { return one.param.name; });

TEST(FusedClassifier, IsNamedByTheVectorInstructionsInUse) {
  const auto fused = make_fused(make_model("resnet8"), false);
  const auto names = fused_engines();
  std::vector<std::string> found;
  for_every_target([&] { found.push_back(fused->engine()); });
  EXPECT_EQ(found, names);
  const std::string known = "fused-avx3 fused-avx2 fused-neon";
  EXPECT_NE(known.find(names.front()), known.npos) << names.front();
}

TEST(FusedClassifier, RunsResnet50) {
  const at::Tensor images = make_images(2, 8, 8);
  const Outcome expected =
      run(*make_model("resnet50"), images, NormStats::running());
  const Outcome found = run(*make_fused(make_model("resnet50"), false), images,
                            NormStats::running());
  expect_close(found.affine, expected.affine, 1e-3);
  expect_close(found.images, expected.images, 1e-3);
}

TEST(FusedClassifier, TakesBytesAndGreyImages) {
  const at::NoGradGuard no_grad;
  const auto reference = make_model("resnet8", 1);
  const auto fused = make_fused(make_model("resnet8", 1), false);
  const at::Tensor images = (make_images(3, 12, 12, 1) * 255).to(at::kByte);

  const auto run_on = [&](const at::Tensor& pixels) {
    return fused->forward(pixels, fused->source(), NormStats::running()).logits;
  };

  expect_close(
      run_on(images),
      reference->forward(images, reference->source(), NormStats::running())
          .logits,
      1e-4);
  EXPECT_TRUE(run_on(images).equal(run_on(images.to(at::kFloat).div(255))));
}

TEST(FusedClassifier, MayBeMadeForInferenceAlone) {
  const auto reference = make_model("resnet8");
  const at::Tensor images = make_images(2, 8, 8);
  const c10::InferenceMode inference;
  const auto fused = make_fused(make_model("resnet8"), /*low_memory=*/false);
  const at::Tensor logits =
      fused->forward(images, fused->source(), NormStats::running()).logits;
  const at::Tensor expected =
      reference->forward(images, reference->source(), NormStats::running())
          .logits;
  EXPECT_TRUE(logits.allclose(expected, 1e-3, 1e-3));
}

TEST(FusedClassifier, LeavesOtherBodiesToLibtorch) {
  const auto reference = make_model("resnet8");
  const auto fused = make_fused(make_model("resnet8"), false);
  const at::Tensor images = make_images(2, 8, 8);
  ModelState other = reference->source().clone();
  other.body *= 1.5;
  other.body = as_leaf(other.body);

  const at::Tensor found =
      fused->forward(images, other, NormStats::batch()).logits;
  const at::Tensor expected =
      reference->forward(images, other, NormStats::batch()).logits;

  EXPECT_TRUE(found.equal(expected));
  EXPECT_GT(
      gradient_of(found.square().sum(), other.body).abs().sum().item<double>(),
      0);
}

TEST(FusedClassifier, LetsNanThrough) {
  const at::NoGradGuard no_grad;
  for (const auto* name : {"resnet8", "imagenet", "wide"}) {
    const auto fused = make_fused(make_model(name), false);
    const at::Tensor images = make_images(2, 16, 16);
    ModelState state = fused->source();
    state.affine = state.affine.clone();
    state.affine[0] = std::numeric_limits<float>::quiet_NaN();
    for_every_target([&] {
      for (const auto stats : {NormStats::running(), NormStats::batch()})
        EXPECT_TRUE(fused->forward(images, state, stats)
                        .logits.isnan()
                        .all()
                        .item<bool>())
            << name;
    });
  }
}

TEST(FusedClassifier, SeveralPassesMayBeAliveAtOnce) {
  const auto fused = make_fused(make_model("resnet8"), false);
  const at::Tensor images = make_images(3, 8, 8);
  const Outcome expected = run(*fused, images, NormStats::batch());
  ModelState state = fused->source();
  state.affine = as_leaf(state.affine);

  const at::Tensor first =
      fused->forward(images, state, NormStats::batch()).logits;
  fused->forward(images * 0.5, state, NormStats::batch());
  fused->forward(make_images(2, 12, 9), fused->source(), NormStats::running());
  const at::Tensor gradient = gradient_of(entropy(first).sum(), state.affine);

  EXPECT_TRUE(gradient.equal(expected.affine));
}

TEST(FusedClassifier, RunsBackOnceOnly) {
  const auto fused = make_fused(make_model("resnet8"), false);
  const at::Tensor images = as_leaf(make_images(2, 8, 8));
  const at::Tensor sum =
      fused->forward(images, fused->source(), NormStats::batch())
          .features.sum();
  const auto back = [&](bool create_graph) {
    torch::autograd::grad({sum}, {images}, {}, /*retain_graph=*/true,
                          create_graph);
  };
  testing::expect_error(ErrorKind::kInvalid, "second derivatives",
                        [&] { back(true); });
  back(false);
  testing::expect_error(ErrorKind::kInvalid, "once only", [&] { back(false); });
}

class EveryMethod : public ::testing::TestWithParam<std::string> {};

// Some windows, of which the last is not full.
at::Tensor adapt(std::shared_ptr<const Classifier> model,
                 const std::string& method) {
  MethodContext context;
  context.model = std::move(model);
  context.rng = Rng(1);
  context.update_interval = 8;
  context.source_images = make_images(8, 16, 16);
  OptionMap changes;
  if (method == "sotta" || method == "screened_sotta")
    changes["min_confidence"] = 0.0;
  const auto adapter = make_adapter(method, context, Preset::kClean, changes);
  std::vector<at::Tensor> logits;
  const at::Tensor stream = make_images(30, 16, 16);
  for (int64_t first = 0; first < 30; first += 8)
    logits.push_back(
        adapter->step(stream.slice(0, first, std::min<int64_t>(first + 8, 30)))
            .logits);
  return at::cat(logits);
}

TEST_P(EveryMethod, AdaptsAsOnLibtorch) {
  for (const auto* name : {"resnet8", "wide_resnet10_1"}) {
    SCOPED_TRACE(name);
    const at::Tensor expected = adapt(make_model(name), GetParam());
    const at::Tensor found =
        adapt(make_fused(make_model(name), false), GetParam());
    // Adam takes the sign of the smallest gradients, so noise in them shows.
    expect_close(found.softmax(1), expected.softmax(1), 1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryMethod, ::testing::ValuesIn(method_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace sotta::engine
