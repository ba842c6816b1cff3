#include "sotta/engine/executor.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "tests/engine/models.h"

namespace sotta {
namespace {

// What can be seen on the CPU; tests/gpu counts the waits.
class ExecutorTest : public ::testing::Test {
 protected:
  const std::shared_ptr<const Classifier> model = engine::make_model("resnet8");
  const Executor plain{model};
  const Executor capturing{model, {/*cuda_graphs=*/true}};
  const at::Tensor images = engine::make_images(4, 16, 16);
};

TEST_F(ExecutorTest, NeedsAModel) {
  EXPECT_THROW(Executor(nullptr), Error);
}

TEST_F(ExecutorTest, RunsTheModelInTheStateItIsGiven) {
  ModelState state = model->source().clone_norm();
  state.affine.mul_(0.5);
  const ForwardResult found = plain.forward(images, state, NormStats::batch());
  const ForwardResult expected =
      model->forward(images, state, NormStats::batch());
  EXPECT_TRUE(found.logits.equal(expected.logits));
  EXPECT_TRUE(found.batch_mean.equal(expected.batch_mean));
  EXPECT_FALSE(found.logits.equal(
      plain.forward(images, state, NormStats::running()).logits));
}

TEST_F(ExecutorTest, RunsLanesOneByOneOnTheCpu) {
  EXPECT_EQ(plain.lanes_at_once(images), 1);
  ModelState other = model->source().clone_norm();
  other.affine.mul_(0.5);
  const auto found = plain.forward_lanes(
      {{images, model->source(), NormStats::batch()},
       {images.narrow(0, 0, 2), other, NormStats::running()}});
  ASSERT_EQ(found.size(), 2);
  EXPECT_TRUE(found[0].logits.equal(
      plain.forward(images, model->source(), NormStats::batch()).logits));
  EXPECT_TRUE(found[1].logits.equal(
      plain.forward(images.narrow(0, 0, 2), other, NormStats::running())
          .logits));
}

TEST_F(ExecutorTest, TakesGradientsOfItsPasses) {
  const at::AutoGradMode with_gradients(true);
  ModelState state = model->source();
  const at::Tensor leaf = state.affine = as_leaf(state.affine);
  const at::Tensor unused = as_leaf(at::ones({3}));
  const auto loss = [&] {
    return plain.forward(images, state, NormStats::batch())
        .logits.square()
        .sum();
  };
  const at::Tensor expected = gradient_of(loss(), leaf);
  EXPECT_GT(expected.norm().item<double>(), 0);
  EXPECT_TRUE(plain.gradient(loss(), leaf).equal(expected));

  const auto both = plain.gradients(loss(), {unused, leaf});
  EXPECT_EQ(both[0].norm().item<double>(), 0);
  EXPECT_TRUE(both[1].equal(expected));
}

TEST_F(ExecutorTest, BringsTensorsToTheHostInTheirOrderAndShape) {
  at::Tensor row = at::tensor({1.f, 2.f, 3.f});
  at::Tensor square = at::full({2, 2}, 5.f);
  at::Tensor scalar = at::tensor(7.f);
  plain.bring_to_host({&square, &row, &scalar});
  EXPECT_TRUE(row.equal(at::tensor({1.f, 2.f, 3.f})));
  EXPECT_TRUE(square.equal(at::full({2, 2}, 5.f)));
  EXPECT_EQ(scalar.item<float>(), 7);
  plain.bring_to_host({});
}

TEST_F(ExecutorTest, ReadsAndSendsNumbers) {
  EXPECT_EQ(plain.number(at::tensor(0.25f)), 0.25);
  EXPECT_EQ(plain.number(at::full({}, true, at::kBool)), 1);
  const at::Tensor sent = plain.to_device(at::tensor({1.f, 2.f}));
  EXPECT_EQ(sent.device(), plain.device());
  EXPECT_TRUE(sent.equal(at::tensor({1.f, 2.f})));
}

// With CUDA graphs asked for, the CPU takes the same way as a GPU.
TEST_F(ExecutorTest, PreparesUpdatesEarlyOnlyWhereThatSavesSomething) {
  EXPECT_FALSE(plain.prepares_updates_early(/*needs_host=*/false));
  EXPECT_FALSE(plain.prepares_updates_early(/*needs_host=*/true));
  EXPECT_TRUE(capturing.prepares_updates_early(/*needs_host=*/false));
  EXPECT_TRUE(capturing.prepares_updates_early(/*needs_host=*/true));
}

TEST_F(ExecutorTest, AStepInHalvesIsTheStep) {
  const at::Tensor gradient = at::tensor({0.5f, -2.f});
  for (const Executor* executor : {&plain, &capturing}) {
    const auto whole = make_adam({}), halves = make_adam({});
    at::Tensor expected = at::ones({2}), found = at::ones({2});
    for (int step = 0; step < 3; ++step) {
      whole->step(expected, gradient);
      executor->begin_step(*halves, found);
      halves->take_step(found, gradient);
    }
    EXPECT_TRUE(found.equal(expected));
    EXPECT_FALSE(found.equal(at::ones({2})));
  }
}

}  // namespace
}  // namespace sotta
