#include <limits>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include "sotta/engine/engine.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "engine/fused.h"
#include "tests/engine/blocked.h"
#include "tests/engine/models.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_counts.h"

namespace sotta::engine {
namespace {

std::unique_ptr<Classifier> make_bf16(const std::string& name) {
  return make_model(name, 3, Precision::kBfloat16);
}

EngineOptions named(const std::string& name) {
  EngineOptions options;
  options.name = name;
  return options;
}

TEST(FusedPrecision, OtherProcessorsLeaveBf16ToLibtorch) {
  for_every_target([&] {
    if (!fused_engines(Precision::kBfloat16).empty()) {
      EXPECT_EQ(choose_engine(make_bf16("resnet8"))->engine(),
                "fused-avx3-bf16");
      return;
    }
    EXPECT_EQ(choose_engine(make_bf16("resnet8"))->engine(), "libtorch");
    testing::expect_error(
        ErrorKind::kUnsupported,
        "fused engine: computes bf16 on processors with AVX512-BF16 alone",
        [&] { choose_engine(make_bf16("resnet8"), named("fused")); });
  });
}

// What follows runs where the processor has the instructions.
class Bf16Network : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (fused_engines(Precision::kBfloat16).empty())
      GTEST_SKIP() << "needs AVX512-BF16";
    bf16_ = make_fused(make_bf16(GetParam()), /*low_memory=*/false);
    low_memory_ = make_fused(make_bf16(GetParam()), /*low_memory=*/true);
    fp32_ = make_fused(make_model(GetParam()), /*low_memory=*/false);
  }

  struct Outcome {
    at::Tensor features, affine, images;
  };
  Outcome run(const Classifier& model, NormStats stats) const {
    ModelState state = model.source();
    state.affine = as_leaf(state.affine);
    const at::Tensor pixels = as_leaf(images_);
    const ForwardResult result = model.forward(pixels, state, stats);
    const auto gradients =
        gradients_of(entropy(result.logits).sum(), {state.affine, pixels});
    return {result.features.detach(), gradients[0], gradients[1]};
  }

  const at::Tensor images_ = make_images(4, 32, 32);
  std::unique_ptr<Classifier> bf16_, low_memory_, fp32_;
};

double cosine(const at::Tensor& a, const at::Tensor& b) {
  return ((a * b).sum() / (a.norm() * b.norm())).item<double>();
}

TEST_P(Bf16Network, ComputesNearlyWhatFp32Does) {
  for (const NormStats stats : {NormStats::running(), NormStats::batch()}) {
    const Outcome found = run(*bf16_, stats), expected = run(*fp32_, stats);
    EXPECT_GT(cosine(found.features, expected.features), 0.995);
    EXPECT_GT(cosine(found.affine, expected.affine), 0.9);
    EXPECT_GT(cosine(found.images, expected.images), 0.75);
    EXPECT_FALSE(found.features.equal(expected.features));
  }
}

TEST_P(Bf16Network, GivesTheSameBitsAtAnyThreadCountAndWithLowMemory) {
  for (const NormStats stats : {NormStats::running(), NormStats::batch()}) {
    const testing::ThreadCount one(1);
    const Outcome expected = run(*bf16_, stats);
    for (const int count : {1, 2, 4}) {
      const testing::ThreadCount threads(count);
      for (const auto* model : {bf16_.get(), low_memory_.get()}) {
        const Outcome found = run(*model, stats);
        EXPECT_TRUE(found.features.equal(expected.features));
        EXPECT_TRUE(found.affine.equal(expected.affine));
        EXPECT_TRUE(found.images.equal(expected.images));
      }
    }
  }
}

TEST_P(Bf16Network, LanesHaveTheBitsOfEachAlone) {
  const at::NoGradGuard no_grad;
  std::vector<Lane> lanes;
  for (int64_t i = 0; i < 3; ++i) {
    ModelState state = bf16_->source().clone_norm();
    state.affine.mul_(1 + 0.1 * static_cast<double>(i));
    lanes.push_back(
        {images_.narrow(0, i, 1), std::move(state), NormStats::running()});
  }
  const auto found = bf16_->forward_lanes(lanes);
  for (size_t i = 0; i < lanes.size(); ++i)
    EXPECT_TRUE(found[i].features.equal(
        bf16_->forward(lanes[i].images, lanes[i].state, lanes[i].stats)
            .features));
}

TEST_P(Bf16Network, LetsNanThrough) {
  const at::NoGradGuard no_grad;
  ModelState state = bf16_->source().clone_norm();
  state.affine[0] = std::numeric_limits<float>::quiet_NaN();
  for (const NormStats stats : {NormStats::running(), NormStats::batch()})
    EXPECT_TRUE(bf16_->forward(images_, state, stats)
                    .logits.isnan()
                    .all()
                    .item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Networks, Bf16Network,
                         ::testing::Values("resnet8", "resnet18", "imagenet",
                                           "bottlenecks", "wide"),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta::engine
