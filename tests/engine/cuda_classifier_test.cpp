#include "engine/cuda/cuda_classifier.h"

#include <utility>

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
