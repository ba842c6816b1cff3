#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"

#include "engine/lane_group.h"
#include "serve/streams/prediction_batch.h"

namespace sotta {

// Has passes of streams that are in use at the same time, each by a thread of
// its own, computed together. A pass is computed at once if no other is being
// computed; those that come meanwhile are gathered for the next.
//
// Thread-safe.
class StreamBatch {
 public:
  // Of streams whose networks are on this device, with so many threads of a
  // CPU.
  StreamBatch(at::Device device, int64_t threads);

  // For the streams' adapters. Must not outlive this.
  std::shared_ptr<const Executor> make_executor(
      std::shared_ptr<const Classifier> model);

  // What an adapter's network says of images in the host's memory, computed
  // beside other streams'; none if that gains nothing, or the method predicts
  // by more than one pass with running statistics.
  std::optional<HostPrediction> predict(const Adapter& adapter,
                                        const at::Tensor& images);

  // Runs `pass`, in which the adapter observes such images on its device,
  // beside those of other streams if it gains from that; else at once.
  void observe(const Adapter& adapter, const at::Tensor& images,
               const std::function<void()>& pass);

  // Runs `update`: beside others on a GPU; on a CPU as many at a time as there
  // are threads.
  void update(const std::function<void()>& update);

 private:
  class BatchExecutor;

  void run_as_lane(const std::function<void()>& work);

  const at::Device device_;
  PredictionBatch predictions_;
  std::unique_ptr<LaneGroup> lanes_;  // none on a CPU
  std::mutex mutex_;
  std::condition_variable has_slot_;
  int64_t free_slots_;  // for updates on a CPU
};

}  // namespace sotta
