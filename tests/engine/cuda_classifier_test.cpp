#include "engine/cuda/cuda_classifier.h"

#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "tests/engine/models.h"
#include "tests/support/expect_error.h"
#include "tests/support/linear_classifier.h"

namespace sotta::engine {
namespace {

// The engine on the CPU, where LibTorch stands in for its kernels: everything
// but these. Own kernels are compared in tests/gpu/forward_test.cpp.
class CudaClassifier : public ::testing::TestWithParam<std::string> {
 protected:
  const std::unique_ptr<Classifier> reference = make_model(GetParam());
  const std::unique_ptr<Classifier> model = make_cuda(make_model(GetParam()));
  const at::Tensor images = make_images(3, 32, 32);

  // The second with weights that are trained.
  ModelState leaf_state(const Classifier& of, bool trained) const {
    ModelState state = of.source().clone_norm();
    state.affine = as_leaf(state.affine);
    if (trained) state.body = as_leaf(state.body.clone());
    return state;
  }
};

TEST_P(CudaClassifier, GivesWhatTheReferenceGives) {
  for (const NormStats stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.2)}) {
    const auto found = model->forward(images, model->source(), stats);
    const auto wanted = reference->forward(images, reference->source(), stats);
    expect_close(found.logits, wanted.logits, 1e-5);
    expect_close(found.features, wanted.features, 1e-5);
    if (!wanted.batch_mean.defined()) continue;
    expect_close(found.batch_mean, wanted.batch_mean, 1e-5);
    expect_close(found.batch_var, wanted.batch_var, 1e-5);
  }
}

TEST_P(CudaClassifier, GivesTheReferencesGradients) {
  for (const bool trained : {false, true}) {
    const auto gradients = [&](const Classifier& of) {
      const ModelState state = leaf_state(of, trained);
      const auto result = of.forward(images, state, NormStats::batch());
      const at::Tensor loss = entropy(result.logits).mean();
      return trained ? gradients_of(loss, {state.affine, state.body})
                     : gradients_of(loss, {state.affine});
    };
    const auto found = gradients(*model), wanted = gradients(*reference);
    for (size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE(std::to_string(trained) + " " + std::to_string(i));
      expect_close(found[i], wanted[i], 1e-4);
    }
  }
}

// Lanes of different sizes, states and statistics, one of which is not adapted.
TEST_P(CudaClassifier, LanesGiveWhatEachGivesAlone) {
  for (const bool with_gradients : {false, true}) {
    const at::AutoGradMode mode(with_gradients);
    std::vector<Lane> lanes;
    for (int64_t i = 0; i < 3; ++i) {
      ModelState state = leaf_state(*model, /*trained=*/false);
      state.affine = as_leaf(state.affine * (1 + 0.1 * static_cast<double>(i)));
      const NormStats kinds[] = {NormStats::batch(), NormStats::running(),
                                 NormStats::blended(0.3)};
      lanes.push_back({images.narrow(0, 0, i + 1).flip({3}), state, kinds[i]});
    }
    const auto found = model->forward_lanes(lanes);
    ASSERT_EQ(found.size(), lanes.size());
    at::Tensor loss;
    for (const auto& lane : found) {
      const at::Tensor own = entropy(lane.logits).mean();
      loss = loss.defined() ? loss + own : own;
    }
    for (size_t i = 0; i < lanes.size(); ++i) {
      SCOPED_TRACE(i);
      const Lane& lane = lanes[i];
      const auto alone = model->forward(lane.images, lane.state, lane.stats);
      expect_close(found[i].logits, alone.logits, 1e-5);
      expect_close(found[i].features, alone.features, 1e-5);
      ASSERT_EQ(found[i].batch_var.defined(), alone.batch_var.defined());
      if (alone.batch_var.defined())
        expect_close(found[i].batch_var, alone.batch_var, 1e-5);
    }
    if (!with_gradients) continue;
    const auto together = gradients_of(
        loss,
        {lanes[0].state.affine, lanes[1].state.affine, lanes[2].state.affine});
    for (size_t i = 0; i < lanes.size(); ++i) {
      SCOPED_TRACE(i);
      const Lane& lane = lanes[i];
      const auto alone = model->forward(lane.images, lane.state, lane.stats);
      expect_close(together[i],
                   gradient_of(entropy(alone.logits).mean(), lane.state.affine),
                   1e-4);
    }
  }
}

TEST_P(CudaClassifier, LanesOfSeveralBodiesRunOneByOne) {
  Lane first{images, model->source(), NormStats::batch()};
  Lane second = first;
  second.state.body = second.state.body * 1.1;
  const auto found = model->forward_lanes({first, second});
  expect_close(found[1].logits,
               model->forward(images, second.state, NormStats::batch()).logits,
               1e-5);
  EXPECT_GT((found[0].logits - found[1].logits).abs().max().item<float>(), 0);
}

TEST_P(CudaClassifier, SpeaksForTheSameNetwork) {
  EXPECT_TRUE(is_cuda(*model));
  EXPECT_FALSE(is_cuda(*reference));
  EXPECT_EQ(model->classes(), reference->classes());
  EXPECT_EQ(model->channels(), reference->channels());
  EXPECT_EQ(model->norm_layers().size(), reference->norm_layers().size());
  EXPECT_EQ(model->normalisation().mean, reference->normalisation().mean);
  EXPECT_EQ(model->named_tensors(model->source()).size(),
            reference->named_tensors(reference->source()).size());
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaClassifier,
                         ::testing::Values("resnet8", "bottlenecks-imagenet"),
                         [](const auto& tested) {
                           return tested.param.substr(0, 7);
                         });

TEST(CudaEngine, IsNoneOfTheCpus) {
  EXPECT_EQ(cuda_engine(at::kCPU), "");
  EXPECT_FALSE(has_cuda_engine(*make_model("resnet8")));
}

TEST(CudaEngine, TakesResNetsOnly) {
  testing::expect_error(ErrorKind::kInvalid, "expected a ResNet", [] {
    make_cuda(std::make_unique<testing::LinearClassifier>(2, 1.0));
  });
}

}  // namespace
}  // namespace sotta::engine
