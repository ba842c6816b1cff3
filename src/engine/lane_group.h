#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "sotta/engine/executor.h"

#include "gpu/device_queue.h"

namespace sotta {

// How many lanes of so many pixels one pass should take at most: so many use a
// GPU well, and more would only take more memory.
int64_t most_lanes(int64_t pixels);
int64_t most_lanes(const at::Tensor& images);

// Streams that run side by side, each in a thread of its own, and go through
// the network together: a pass of one waits until all the others want one too,
// and those that are alike are computed as lanes of one batch
// (Classifier::forward_lanes()); so are their backward passes. A method is
// written for one stream and does not notice.
//
//   lane 1   predict ..... step ............ predict
//   lane 2   predict ..... step ............ predict      -> time
//   lane 3   predict ..... (memory empty) .. predict
//            one batch     one batch of two  one batch
//
// Lanes may begin and end at any time, and need not want the same: what is
// further in a window goes first, so that those behind wait for the next window
// and are together with the others from there on. The way back of a batch is
// computed once, when no lane of it has another pass to make before.
//
// Passes that gain nothing from company (Classifier::gains_from_lanes()) are
// computed at once, by the lane's own thread.
class LaneGroup {
 public:
  // Of streams whose models are on this device. On a CPU passes of several
  // lanes use so many threads; 0: LibTorch's number.
  explicit LaneGroup(at::Device device, int64_t threads = 0);

  // All members must have left.
  ~LaneGroup();
  LaneGroup(const LaneGroup&) = delete;
  LaneGroup& operator=(const LaneGroup&) = delete;

  // For the methods of the group's streams. Passes of threads that are not
  // members are computed at once. The group must outlive it.
  std::shared_ptr<const Executor> make_executor(
      std::shared_ptr<const Classifier> model);

  // While it lives, the calling thread is a lane of the group, and its work on
  // a GPU goes into the group's queue. In between it must not wait for another
  // member, but for its passes.
  class Member {
   public:
    explicit Member(LaneGroup& group);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    friend class LaneGroup;

    LaneGroup& group_;
    SharedQueue::Use queue_;
    int64_t lanes_ = 1;  // of the last batch it was in
    // Took part in a batch whose way back is not computed yet.
    bool has_graph_ = false;
    // Was in any: its gradients are then asked of the group.
    bool shares_graphs_ = false;
  };

 private:
  class GroupExecutor;
  struct Request;

  // Has the request computed, beside others, and returns when it is; throws
  // what that threw.
  void wait_for(Request& request);

  // The work of thread_.
  void serve();
  std::vector<Request*> take_most_advanced();
  void compute(const std::vector<Request*>& requests);
  void compute_forward(const std::vector<Request*>& alike);
  void forward_batch(const std::vector<Request*>& batch);
  void compute_backward(const std::vector<Request*>& requests);
  bool has_open_graphs() const;

  at::Device device_;
  SharedQueue queue_;

  mutable std::mutex mutex_;
  std::condition_variable all_wait_;
  std::vector<Member*> members_;
  std::vector<Request*> waiting_;
  bool ending_ = false;

  // Computes for all lanes: libraries keep handles and memory per thread.
  std::thread thread_;
};

}  // namespace sotta
