#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "engine/lane_group.h"
#include "gpu/device_work.h"
#include "tests/support/golden.h"

namespace sotta::testing {

// A method on streams of different lengths, in lanes and each alone.
class LaneRuns {
 public:
  static constexpr int64_t kWindow = 16;
  static constexpr int64_t kLanes = 4;

  LaneRuns(std::string method, std::shared_ptr<const Classifier> model,
           OptionMap changes = {}, GuardOptions guard = {})
      : method_(std::move(method)),
        model_(std::move(model)),
        changes_(std::move(changes)),
        guard_(std::move(guard)) {
    const Golden stream("methods/stream");
    const at::Device device = model_->source().affine.device();
    images_ = stream["images"].to(device);
    source_images_ = stream["fisher_clean"].to(device);
  }

  // What came of one stream.
  struct Run {
    std::vector<at::Tensor> logits;
    at::Tensor affine, running_mean;
    std::vector<int64_t> by_source;  // predictions of every window
  };

  Run alone(int64_t lane) const {
    return run(lane, std::make_shared<Executor>(model_));
  }

  std::vector<Run> in_lanes() const {
    LaneGroup group(model_->source().affine.device());
    const auto executor = group.make_executor(model_);
    std::vector<Run> runs(kLanes);
    std::vector<std::thread> threads;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      threads.emplace_back([&, lane] {
        const LaneGroup::Member member(group);
        runs[static_cast<size_t>(lane)] = run(lane, executor);
      });
    for (auto& thread : threads)
      thread.join();
    return runs;
  }

  void expect_the_same(double tolerance) const {
    const std::vector<Run> found = in_lanes();
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const Run wanted = alone(lane);
      const Run& run = found[static_cast<size_t>(lane)];
      ASSERT_EQ(run.logits.size(), wanted.logits.size());
      for (size_t w = 0; w < wanted.logits.size(); ++w)
        EXPECT_TRUE(
            close(run.logits[w], wanted.logits[w], tolerance, tolerance))
            << "lane " << lane << ", window " << w;
      EXPECT_EQ(run.by_source, wanted.by_source);
      EXPECT_TRUE(close(run.affine, wanted.affine, tolerance, tolerance));
      EXPECT_TRUE(
          close(run.running_mean, wanted.running_mean, tolerance, tolerance));
    }
  }

 private:
  Run run(int64_t lane, std::shared_ptr<const Executor> executor) const {
    const DeviceWork at_work(images_.device());
    MethodContext context;
    context.model = model_;
    context.update_interval = kWindow;
    context.executor = std::move(executor);
    context.source_images = source_images_;
    context.rng = Rng(static_cast<uint64_t>(lane));
    const auto adapter =
        make_adapter(method_, context, Preset::kClean, changes_, guard_);
    const at::Tensor stream = images_.roll({5 * lane}, {0});
    Run result;
    for (int64_t w = 0; w < 3 + lane % 3; ++w) {
      const StepResult step =
          adapter->step(stream.narrow(0, w * kWindow, kWindow));
      result.logits.push_back(step.logits.cpu());
      result.by_source.push_back(step.by_source);
    }
    result.affine = adapter->state().affine.cpu();
    result.running_mean = adapter->state().running_mean.cpu();
    return result;
  }

  std::string method_;
  std::shared_ptr<const Classifier> model_;
  OptionMap changes_;
  GuardOptions guard_;
  at::Tensor images_, source_images_;
};

}  // namespace sotta::testing
