#include "engine/lane_group.h"

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "engine/cuda/cuda_classifier.h"
#include "engine/wrapped_classifier.h"
#include "tests/engine/models.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// Counts what goes through a network, and how many lanes at once.
class CountingClassifier : public engine::WrappedClassifier {
 public:
  using WrappedClassifier::WrappedClassifier;

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    ++single;
    return reference().forward(images, state, stats);
  }
  std::vector<ForwardResult> forward_lanes(
      const std::vector<Lane>& lanes) const override {
    ++batches;
    most_lanes = std::max(most_lanes.load(), lanes.size());
    return reference().forward_lanes(lanes);
  }
  bool gains_from_lanes(const Lane& lane) const override {
    return reference().gains_from_lanes(lane);
  }
  std::string engine() const override { return reference().engine(); }

  mutable std::atomic<int64_t> single{0}, batches{0};
  mutable std::atomic<size_t> most_lanes{0};
};

// The CUDA engine on the CPU, where LibTorch stands in for its kernels.
class LaneGroupTest : public ::testing::Test {
 protected:
  using Work = std::function<void(int64_t lane, const Executor&)>;

  // Runs `work` in so many lanes at once; none begins before all are members.
  void run(int64_t lanes, const Work& work) {
    std::atomic<int64_t> members{0};
    std::vector<std::thread> threads;
    const auto executor = group.make_executor(model);
    for (int64_t lane = 0; lane < lanes; ++lane)
      threads.emplace_back([&, lane] {
        const LaneGroup::Member member(group);
        ++members;
        while (members < lanes)
          std::this_thread::yield();
        work(lane, *executor);
      });
    for (auto& thread : threads)
      thread.join();
  }

  ModelState state_of(int64_t lane) const {
    ModelState state = model->source().clone_norm();
    state.affine.mul_(1 + 0.1 * static_cast<double>(lane));
    state.running_mean.add_(0.05 * static_cast<double>(lane));
    return state;
  }

  at::Tensor images_of(int64_t lane, int64_t count = 3) const {
    return engine::make_images(16, 8, 8).narrow(0, lane, count);
  }

  // Loss and gradient of a lane's images at its state.
  std::pair<at::Tensor, at::Tensor> slope(const Executor& executor,
                                          int64_t lane,
                                          int64_t count = 3) const {
    const at::AutoGradMode with_gradients(true);
    ModelState state = state_of(lane);
    state.affine = as_leaf(state.affine);
    const auto result =
        executor.forward(images_of(lane, count), state, NormStats::batch());
    const at::Tensor loss = entropy(result.logits).mean();
    return {loss.detach(), executor.gradient(loss, state.affine)};
  }

  const std::shared_ptr<CountingClassifier> model =
      std::make_shared<CountingClassifier>(
          engine::make_cuda(engine::make_model("resnet8")));
  const Executor alone{model};
  LaneGroup group{at::kCPU};
};

TEST_F(LaneGroupTest, TakesThePassesOfAllLanesAtOnce) {
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> found(4);
  run(4, [&](int64_t lane, const Executor& executor) {
    const at::NoGradGuard here_too;
    found[static_cast<size_t>(lane)] =
        executor.forward(images_of(lane), state_of(lane), NormStats::running())
            .logits;
  });
  EXPECT_EQ(model->batches, 1);
  EXPECT_EQ(model->most_lanes, 4);
  for (int64_t lane = 0; lane < 4; ++lane)
    engine::expect_close(
        found[static_cast<size_t>(lane)],
        alone.forward(images_of(lane), state_of(lane), NormStats::running())
            .logits,
        1e-5);
}

TEST_F(LaneGroupTest, TakesTheWayBackOfAllLanesAtOnce) {
  std::vector<std::pair<at::Tensor, at::Tensor>> found(4);
  run(4, [&](int64_t lane, const Executor& executor) {
    found[static_cast<size_t>(lane)] = slope(executor, lane);
  });
  EXPECT_EQ(model->batches, 1);
  for (int64_t lane = 0; lane < 4; ++lane) {
    const auto& [loss, gradient] = found[static_cast<size_t>(lane)];
    const auto [wanted_loss, wanted_gradient] = slope(alone, lane);
    engine::expect_close(loss, wanted_loss, 1e-5);
    engine::expect_close(gradient, wanted_gradient, 1e-4);
  }
}

// As EATA does if it selects nothing: one lane never goes back, and is at the
// next window already.
TEST_F(LaneGroupTest, LetsALaneGoOnWithoutItsWayBack) {
  std::vector<at::Tensor> found(3);
  run(3, [&](int64_t lane, const Executor& executor) {
    const at::AutoGradMode with_gradients(true);
    ModelState state = state_of(lane);
    state.affine = as_leaf(state.affine);
    for (int64_t window = 0; window < 3; ++window) {
      const auto result =
          executor.forward(images_of(lane), state, NormStats::batch());
      if (lane == window) continue;
      found[static_cast<size_t>(lane)] =
          executor.gradient(entropy(result.logits).mean(), state.affine);
    }
  });
  EXPECT_EQ(model->batches, 3);
  EXPECT_EQ(model->most_lanes, 3);
  for (int64_t lane = 0; lane < 3; ++lane)
    engine::expect_close(found[static_cast<size_t>(lane)],
                         slope(alone, lane).second, 1e-4);
}

// Kernels for lanes use up what a graph keeps: a batch can go back only once.
TEST_F(LaneGroupTest, LetsALaneLookElsewhereBeforeAllGoBack) {
  std::vector<at::Tensor> found(2);
  std::atomic<bool> has_looked{false};
  run(2, [&](int64_t lane, const Executor& executor) {
    const at::AutoGradMode with_gradients(true);
    ModelState state = state_of(lane);
    state.affine = as_leaf(state.affine);
    const auto first =
        executor.forward(images_of(lane), state, NormStats::batch());
    if (lane == 1) {
      const at::NoGradGuard looks_first;
      executor.forward(images_of(lane), state, NormStats::running());
      has_looked = true;
    }
    found[static_cast<size_t>(lane)] =
        executor.gradient(entropy(first.logits).mean(), state.affine);
    EXPECT_TRUE(has_looked) << "lane " << lane;
  });
  for (int64_t lane = 0; lane < 2; ++lane)
    engine::expect_close(found[static_cast<size_t>(lane)],
                         slope(alone, lane).second, 1e-4);
}

TEST_F(LaneGroupTest, RunsBatchesOfDifferentSizesApart) {
  std::vector<at::Tensor> found(4);
  run(4, [&](int64_t lane, const Executor& executor) {
    found[static_cast<size_t>(lane)] =
        slope(executor, lane, /*count=*/2 + lane % 2).second;
  });
  EXPECT_EQ(model->batches, 2);
  EXPECT_EQ(model->most_lanes, 2);
  for (int64_t lane = 0; lane < 4; ++lane)
    engine::expect_close(found[static_cast<size_t>(lane)],
                         slope(alone, lane, 2 + lane % 2).second, 1e-4);
}

TEST_F(LaneGroupTest, DoesNotWaitForLanesThatHaveEnded) {
  std::atomic<int64_t> passes{0};
  run(4, [&](int64_t lane, const Executor& executor) {
    for (int64_t window = 0; window <= lane; ++window) {
      slope(executor, lane);
      ++passes;
    }
  });
  EXPECT_EQ(passes, 10);
  EXPECT_EQ(model->batches, 4);
}

TEST_F(LaneGroupTest, TakesALaneInThatComesLater) {
  const auto executor = group.make_executor(model);
  std::atomic<bool> begun{false}, joined{false};
  std::thread first([&] {
    const LaneGroup::Member member(group);
    while (!joined) {
      slope(*executor, 0);
      begun = true;
    }
    for (int i = 0; i < 3; ++i)
      slope(*executor, 0);
  });
  while (!begun)
    std::this_thread::yield();
  at::Tensor found;
  {
    const LaneGroup::Member member(group);
    joined = true;
    found = slope(*executor, 1).second;
  }
  first.join();
  engine::expect_close(found, slope(alone, 1).second, 1e-4);
  EXPECT_EQ(model->most_lanes, 2);
}

TEST_F(LaneGroupTest, RefusesOneLanesImagesAndServesTheOthers) {
  std::atomic<int64_t> served{0}, refused{0};
  run(3, [&](int64_t lane, const Executor& executor) {
    const at::NoGradGuard no_gradients;
    ModelState state = state_of(lane);
    if (lane == 1) state.affine = state.affine.narrow(0, 0, 3);
    try {
      executor.forward(images_of(lane), state, NormStats::running());
      ++served;
    } catch (const std::exception&) {
      ++refused;
    }
  });
  EXPECT_EQ(served, 2);
  EXPECT_EQ(refused, 1);
}

TEST_F(LaneGroupTest, LeavesThreadsThatAreNoLanesAlone) {
  const auto executor = group.make_executor(model);
  const at::Tensor found = slope(*executor, 2).second;
  EXPECT_EQ(model->batches, 0);
  EXPECT_TRUE(found.equal(slope(alone, 2).second));
}

TEST_F(LaneGroupTest, LeavesPassesThatGainNothingToTheLanesThemselves) {
  run(3, [&](int64_t lane, const Executor& executor) {
    ModelState own_body = state_of(lane);
    own_body.body = own_body.body.clone();
    executor.forward(images_of(lane), own_body, NormStats::running());
  });
  EXPECT_EQ(model->batches, 0);
  EXPECT_EQ(model->single, 3);
}

TEST_F(LaneGroupTest, TakesAThreadOnce) {
  const LaneGroup::Member member(group);
  testing::expect_error(ErrorKind::kInvalid, "no lane yet",
                        [&] { const LaneGroup::Member again(group); });
}

TEST(LaneGroupThreads, AreThoseOfItsPassesAlone) {
  const int before = at::get_num_threads();
  const LaneGroup group(at::kCPU, before + 1);
  EXPECT_EQ(at::get_num_threads(), before);
  int of_new_thread = 0;
  std::thread([&] { of_new_thread = at::get_num_threads(); }).join();
  EXPECT_EQ(of_new_thread, before);
}

TEST(MostLanes, AreThoseOfOneLargeBatch) {
  EXPECT_EQ(most_lanes(engine::make_images(64, 32, 32)), 32);
  EXPECT_EQ(most_lanes(engine::make_images(1, 1, 1)), 1024);
  EXPECT_EQ(most_lanes(engine::make_images(1, 32, 32).narrow(0, 0, 0)), 1);
}

}  // namespace
}  // namespace sotta
