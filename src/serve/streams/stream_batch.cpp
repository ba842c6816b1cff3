#include "serve/streams/stream_batch.h"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "sotta/gpu/device.h"

#include "serve/streams/network_answer.h"

namespace sotta {
namespace {

// Set while the thread observes: its passes are predictions.
thread_local bool is_observing = false;

// A lane waits for its company, so what gains nothing from it stays out.
bool gains(const Adapter& adapter, const Lane& lane) {
  const at::NoGradGuard no_gradients;
  return PublishedNetwork::can_publish(adapter) &&
         lane.stats.source == NormStats::Source::kRunning &&
         adapter.model().gains_from_lanes(lane);
}

Lane lane_of(const Adapter& adapter, const at::Tensor& images) {
  return {images, adapter.state(), adapter.prediction_stats()};
}

}  // namespace

// Has predictions computed beside other streams', and the passes of updates by
// the lane group.
class StreamBatch::BatchExecutor : public Executor {
 public:
  BatchExecutor(PredictionBatch& predictions,
                std::shared_ptr<const Classifier> model,
                std::shared_ptr<const Executor> lanes)
      : Executor(std::move(model)),
        predictions_(predictions),
        lanes_(std::move(lanes)) {}

  // Logits of a prediction are in the host's memory: methods that gain from
  // lanes do no more than read them. What a screen asks of the network is under
  // a batch's statistics, and no prediction.
  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    if (is_observing && !at::GradMode::is_enabled() &&
        stats.source == NormStats::Source::kRunning)
      return {predictions_.predict(model(), {images, state, stats}).logits,
              {},
              {},
              {}};
    return lanes_ ? lanes_->forward(images, state, stats)
                  : Executor::forward(images, state, stats);
  }

  int64_t streams_at_once() const override {
    return lanes_ ? lanes_->streams_at_once() : 1;
  }

  std::vector<at::Tensor> gradients(
      const at::Tensor& loss,
      const std::vector<at::Tensor>& leaves) const override {
    return lanes_ ? lanes_->gradients(loss, leaves)
                  : Executor::gradients(loss, leaves);
  }

 private:
  PredictionBatch& predictions_;
  std::shared_ptr<const Executor> lanes_;  // none on a CPU
};

StreamBatch::StreamBatch(at::Device device, int64_t threads)
    : device_(device),
      predictions_(std::max<int64_t>(1, threads)),
      lanes_(device.is_cpu() ? nullptr
                             : std::make_unique<LaneGroup>(device, threads)),
      free_slots_(std::max<int64_t>(1, threads)) {}

std::shared_ptr<const Executor> StreamBatch::make_executor(
    std::shared_ptr<const Classifier> model) {
  auto lanes = lanes_ ? lanes_->make_executor(model) : nullptr;
  return std::make_shared<BatchExecutor>(predictions_, std::move(model),
                                         std::move(lanes));
}

std::optional<HostPrediction> StreamBatch::predict(const Adapter& adapter,
                                                   const at::Tensor& images) {
  Lane lane = lane_of(adapter, images);
  if (!gains(adapter, lane)) return std::nullopt;
  return predictions_.predict(adapter.model(), std::move(lane));
}

void StreamBatch::observe(const Adapter& adapter, const at::Tensor& images,
                          const std::function<void()>& pass) {
  struct Observing {
    explicit Observing(bool now) { is_observing = now; }
    ~Observing() { is_observing = false; }
  };
  const Observing scope(gains(adapter, lane_of(adapter, images)));
  pass();
}

void StreamBatch::update(const std::function<void()>& update) {
  if (lanes_) return run_as_lane(update);
  struct Slot {
    explicit Slot(StreamBatch& of) : batch(of) {
      std::unique_lock lock(batch.mutex_);
      batch.has_slot_.wait(lock, [this] { return batch.free_slots_ > 0; });
      --batch.free_slots_;
    }
    ~Slot() {
      const std::lock_guard lock(batch.mutex_);
      ++batch.free_slots_;
      batch.has_slot_.notify_one();
    }
    StreamBatch& batch;
  };
  const Slot slot(*this);
  update();
}

// The group has a queue of its own on a GPU: each side waits for what the other
// has put into its queue.
void StreamBatch::run_as_lane(const std::function<void()>& work) {
  wait_for(device_);
  const LaneGroup::Member member(*lanes_);
  work();
  wait_for(device_);
}

}  // namespace sotta
