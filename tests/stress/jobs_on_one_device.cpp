#include "tests/stress/jobs_on_one_device.h"

#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/threads.h"
#include "sotta/engine/engine.h"
#include "sotta/gpu/device.h"

#include "engine/cuda/cuda_classifier.h"
#include "engine/lane_group.h"
#include "gpu/cuda_graph.h"
#include "gpu/device_queue.h"
#include "gpu/device_work.h"
#include "models/resnet.h"

namespace sotta::testing {
namespace {

constexpr int64_t kWindows = 6;

// Rounding that has gone through a few updates.
constexpr double kTolerance = 0.05;

struct Kind {
  std::string method;
  int64_t classes;
};

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const auto& method : method_names())
    for (const int64_t classes : {10, 100})
      if (method != "cotta")  // takes as long as all the others
        kinds.push_back({method, classes});
  return kinds;
}

std::shared_ptr<const Classifier> make_network(const JobsOptions& options,
                                               int64_t classes) {
  const ResNetSpec spec = named_resnet(options.network, classes);
  const ModelState state = random_resnet_state(spec, Rng(1)).to(options.device);
  DeviceSettings settings;
  settings.precision = options.precision;
  settings.shared = true;
  auto network =
      make_resnet(spec, state, {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}}, settings);
  // The engine for GPUs joins lanes on the CPU too.
  return options.in_lanes ? engine::make_cuda(std::move(network))
                          : choose_engine(std::move(network));
}

// Pixels without a generator that threads would share.
at::Tensor make_images(const JobsOptions& options) {
  const at::Tensor images =
      at::empty({options.window * kWindows, 3, 32, 32}, at::kByte);
  uint64_t state = 1;
  auto* pixel = images.data_ptr<uint8_t>();
  for (int64_t i = 0; i < images.numel(); ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    pixel[i] = static_cast<uint8_t>(state >> 56);
  }
  return images.to(options.device);
}

class Jobs {
 public:
  explicit Jobs(const JobsOptions& options)
      : options_(options),
        group_(options.device),
        images_(make_images(options)),
        networks_{{10, make_network(options, 10)},
                  {100, make_network(options, 100)}} {
    for (const Kind& kind : all_kinds()) {
      kinds_.push_back(kind);
      expected_.push_back(run(kind));
    }
    wait_for(options.device);
    runs_ = windows_ = 0;
  }

  JobsOutcome side_by_side() {
    const int64_t before = CudaGraph::captures();
    run_in_threads(options_.jobs, options_.jobs, [&](int64_t job) {
      const OwnQueue queue(options_.device);
      for (auto i = static_cast<size_t>(job); !enough(before); i += 5) {
        std::optional<LaneGroup::Member> member;
        if (options_.in_lanes) member.emplace(group_);
        check(i % kinds_.size());
      }
    });
    return {runs_, windows_, CudaGraph::captures() - before, wrong_};
  }

 private:
  bool enough(int64_t captures_before) const {
    return runs_ >= options_.runs &&
           CudaGraph::captures() - captures_before >= options_.captures;
  }

  void check(size_t kind) {
    const at::Tensor logits = run(kinds_[kind]);
    const double scale = expected_[kind].abs().max().item<double>();
    const double difference =
        (logits - expected_[kind]).abs().max().item<double>();
    if (!(difference <= kTolerance * scale)) ++wrong_;
    ++runs_;
  }

  // The last window's logits, on the CPU.
  at::Tensor run(const Kind& kind) {
    const DeviceWork at_work(options_.device);
    MethodContext context;
    context.model = networks_.at(kind.classes);
    context.update_interval = options_.window;
    context.executor =
        options_.in_lanes
            ? group_.make_executor(context.model)
            : std::make_shared<Executor>(context.model,
                                         ExecutorOptions{options_.cuda_graphs});
    context.source_images = window(0);
    // A random network is confident of nothing, and the memory is to be full.
    OptionMap changes;
    if (kind.method == "sotta" || kind.method == "screened_sotta")
      changes["min_confidence"] = 0.0;
    if (kind.method == "rotta") changes["quota_first"] = false;
    const auto adapter =
        make_adapter(kind.method, context, Preset::kClean, changes);
    at::Tensor logits;
    for (int64_t w = 0; w < kWindows; ++w, ++windows_)
      logits = adapter->step(window(w)).logits;
    return logits.cpu();
  }

  at::Tensor window(int64_t w) const {
    return images_.narrow(0, w * options_.window, options_.window);
  }

  JobsOptions options_;
  LaneGroup group_;
  at::Tensor images_;
  std::map<int64_t, std::shared_ptr<const Classifier>> networks_;
  std::vector<Kind> kinds_;
  std::vector<at::Tensor> expected_;
  std::atomic<int64_t> runs_{0};
  std::atomic<int64_t> windows_{0};
  std::atomic<int64_t> wrong_{0};
};

}  // namespace

JobsOutcome run_jobs(const JobsOptions& options) {
  return Jobs(options).side_by_side();
}

}  // namespace sotta::testing
