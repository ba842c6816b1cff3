#include "serve/streams/stream_batch.h"

#include <algorithm>

#include "sotta/gpu/device.h"

namespace sotta {

StreamBatch::StreamBatch(at::Device device, int64_t threads)
    : device_(device),
      lanes_(device, threads),
      free_slots_(std::max<int64_t>(1, threads)) {}

// A lane waits for its company, so what gains nothing from it stays out.
void StreamBatch::predict(const Adapter& adapter, const at::Tensor& images,
                          const std::function<void()>& pass) {
  const Lane lane{images, adapter.state(), adapter.method().prediction_stats()};
  if (adapter.model().gains_from_lanes(lane))
    run_as_lane(pass);
  else
    pass();
}

void StreamBatch::update(const std::function<void()>& update) {
  if (!device_.is_cpu()) return run_as_lane(update);
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
  const LaneGroup::Member member(lanes_);
  work();
  wait_for(device_);
}

}  // namespace sotta
