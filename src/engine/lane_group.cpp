#include "engine/lane_group.h"

#include <algorithm>
#include <exception>
#include <future>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "gpu/device_work.h"
#include "gpu/settings_scope.h"

namespace sotta {
namespace {

// 2,048 images of CIFAR's size: 32 windows.
constexpr int64_t kMostPixels = 2048 * 32 * 32;
constexpr int64_t kMostLanes = 1024;

thread_local LaneGroup::Member* this_member = nullptr;

// Elements that belong together, in their order.
template <class T, class Belong>
std::vector<std::vector<T>> parts_of(const std::vector<T>& all,
                                     const Belong& belong_together) {
  std::vector<std::vector<T>> parts;
  for (const T& element : all) {
    const auto part = std::find_if(
        parts.begin(), parts.end(), [&](const std::vector<T>& some) {
          return belong_together(some.front(), element);
        });
    if (part == parts.end())
      parts.push_back({element});
    else
      part->push_back(element);
  }
  return parts;
}

}  // namespace

int64_t most_lanes(const at::Tensor& images) {
  return most_lanes(images.size(0) * images.size(2) * images.size(3));
}

int64_t most_lanes(int64_t pixels) {
  return pixels == 0 ? 1
                     : std::clamp<int64_t>(kMostPixels / pixels, 1, kMostLanes);
}

// A pass that a lane waits for. Its results are the lane's to read once it is
// done.
struct LaneGroup::Request {
  Request(const Classifier& of, Member& by) : model(&of), member(&by) {}

  const Classifier* model;
  Member* member;
  bool with_gradients = at::GradMode::is_enabled();

  Lane lane;        // of a forward pass
  at::Tensor loss;  // of a backward pass; undefined if it is none
  std::vector<at::Tensor> leaves;

  ForwardResult result;
  std::vector<at::Tensor> gradients;
  std::exception_ptr error;
  bool done = false;
  std::condition_variable is_done;

  bool goes_back() const { return loss.defined(); }

  // How far it is in its window. A method predicts first, with running
  // statistics if it can; passes that train come later, and at last their way
  // back. A lane that looks elsewhere before its way back is let go ahead:
  // kernels for lanes use up what a graph keeps, so that a batch goes back
  // once.
  int progress() const {
    if (goes_back()) return 3;
    if (!with_gradients && member->has_graph_) return 4;
    if (with_gradients) return 2;
    return lane.stats.source == NormStats::Source::kRunning ? 0 : 1;
  }

  // Whether both can be lanes of one fast batch.
  bool is_alike(const Request& other) const {
    const Lane& a = lane;
    const Lane& b = other.lane;
    return model == other.model && with_gradients == other.with_gradients &&
           a.state.body.is_same(b.state.body) &&
           a.images.sizes() == b.images.sizes() &&
           a.images.scalar_type() == b.images.scalar_type() &&
           a.stats.source == b.stats.source &&
           a.stats.batch_share == b.stats.batch_share;
  }
};

// Sends the passes of the group's members to it.
class LaneGroup::GroupExecutor : public Executor {
 public:
  GroupExecutor(LaneGroup& group, std::shared_ptr<const Classifier> model)
      : Executor(std::move(model)), group_(group) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    Lane lane{images, state, stats};
    Member* member = this_lane();
    if (member == nullptr || !model().gains_from_lanes(lane)) {
      if (member != nullptr) member->lanes_ = 1;
      return Executor::forward(images, state, stats);
    }
    Request request(model(), *member);
    request.lane = std::move(lane);
    group_.wait_for(request);
    return std::move(request.result);
  }

  int64_t streams_at_once() const override {
    const Member* member = this_lane();
    return member == nullptr ? 1 : member->lanes_;
  }

  std::vector<at::Tensor> gradients(
      const at::Tensor& loss,
      const std::vector<at::Tensor>& leaves) const override {
    Member* member = this_lane();
    if (member == nullptr || !member->shares_graphs_)
      return Executor::gradients(loss, leaves);
    Request request(model(), *member);
    request.loss = loss;
    request.leaves = leaves;
    group_.wait_for(request);
    return std::move(request.gradients);
  }

 private:
  Member* this_lane() const {
    return this_member != nullptr && &this_member->group_ == &group_
               ? this_member
               : nullptr;
  }

  LaneGroup& group_;
};

LaneGroup::LaneGroup(at::Device device, int64_t threads)
    : device_(device), queue_(device) {
  // LibTorch keeps the number per thread, and new threads begin with the last
  // that any has set.
  const int before = at::get_num_threads();
  std::promise<void> has_set;
  thread_ = std::thread([&has_set, threads, this] {
    if (threads > 0) at::set_num_threads(static_cast<int>(threads));
    has_set.set_value();
    serve();
  });
  has_set.get_future().wait();
  if (threads > 0) at::set_num_threads(before);
}

LaneGroup::~LaneGroup() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  all_wait_.notify_one();
  thread_.join();
}

std::shared_ptr<const Executor> LaneGroup::make_executor(
    std::shared_ptr<const Classifier> model) {
  auto executor = std::make_shared<GroupExecutor>(*this, std::move(model));
  require(executor->device() == device_, "lanes",
          "expected a model on " + device_.str() + ", got one on " +
              executor->device().str());
  return executor;
}

LaneGroup::Member::Member(LaneGroup& group)
    : group_(group), queue_(group.queue_) {
  require(this_member == nullptr, "lanes",
          "expected a thread that is no lane yet");
  this_member = this;
  const std::lock_guard lock(group.mutex_);
  group.members_.push_back(this);
}

LaneGroup::Member::~Member() {
  this_member = nullptr;
  {
    const std::lock_guard lock(group_.mutex_);
    auto& members = group_.members_;
    members.erase(std::find(members.begin(), members.end(), this));
  }
  group_.all_wait_.notify_one();  // the others no longer wait for it
}

void LaneGroup::wait_for(Request& request) {
  {
    const PausedDeviceWork the_groups_thread_works;
    std::unique_lock lock(mutex_);
    waiting_.push_back(&request);
    if (waiting_.size() == members_.size()) all_wait_.notify_one();
    request.is_done.wait(lock, [&] { return request.done; });
  }
  if (request.error) std::rethrow_exception(request.error);
}

void LaneGroup::serve() {
  const SharedQueue::Use queue(queue_);
  std::unique_lock lock(mutex_);
  while (true) {
    all_wait_.wait(lock, [this] {
      return ending_ ||
             (!waiting_.empty() && waiting_.size() == members_.size());
    });
    if (ending_) return;
    const std::vector<Request*> requests = take_most_advanced();
    lock.unlock();
    compute(requests);
    lock.lock();
    for (Request* request : requests) {
      request->done = true;
      request->is_done.notify_one();
    }
  }
}

std::vector<LaneGroup::Request*> LaneGroup::take_most_advanced() {
  int furthest = 0;
  for (const Request* request : waiting_)
    furthest = std::max(furthest, request->progress());
  const auto behind = std::stable_partition(
      waiting_.begin(), waiting_.end(),
      [&](const Request* request) { return request->progress() == furthest; });
  std::vector<Request*> taken(waiting_.begin(), behind);
  waiting_.erase(waiting_.begin(), behind);
  return taken;
}

void LaneGroup::compute(const std::vector<Request*>& requests) {
  const DeviceWork at_work(device_);
  const bool back = requests.front()->goes_back();
  const auto belong_together = [back](const Request* a, const Request* b) {
    return back ? a->model == b->model : a->is_alike(*b);
  };
  for (const auto& part : parts_of(requests, belong_together)) {
    if (back)
      compute_backward(part);
    else
      compute_forward(part);
  }
}

void LaneGroup::compute_forward(const std::vector<Request*>& alike) {
  const Request& first = *alike.front();
  const at::AutoGradMode gradients(first.with_gradients);
  const auto at_once = static_cast<size_t>(most_lanes(first.lane.images));
  for (size_t begin = 0; begin < alike.size(); begin += at_once) {
    const std::vector<Request*> batch(
        alike.begin() + static_cast<std::ptrdiff_t>(begin),
        alike.begin() + static_cast<std::ptrdiff_t>(
                            std::min(begin + at_once, alike.size())));
    try {
      forward_batch(batch);
    } catch (...) {
      // What fails for one of them, or takes too much memory for all, is
      // nothing to the others.
      for (Request* request : batch) {
        try {
          forward_batch({request});
        } catch (...) {
          request->error = std::current_exception();
        }
      }
    }
  }
}

void LaneGroup::forward_batch(const std::vector<Request*>& batch) {
  std::vector<Lane> lanes;
  for (const Request* request : batch)
    lanes.push_back(request->lane);
  auto results = batch.front()->model->forward_lanes(lanes);
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i]->result = std::move(results[i]);
    batch[i]->member->lanes_ = static_cast<int64_t>(batch.size());
    if (!batch[i]->with_gradients) continue;
    batch[i]->member->has_graph_ = true;
    batch[i]->member->shares_graphs_ = true;
  }
}

// The sum of all losses: each depends on its own lane's leaves alone.
void LaneGroup::compute_backward(const std::vector<Request*>& requests) {
  const Classifier& model = *requests.front()->model;
  std::vector<at::Tensor> losses, leaves;
  for (const Request* request : requests) {
    losses.push_back(request->loss);
    leaves.insert(leaves.end(), request->leaves.begin(), request->leaves.end());
    request->member->has_graph_ = false;
  }
  try {
    const SettingsScope scope(model.device_settings(), device_);
    const auto gradients = gradients_of(losses, leaves, has_open_graphs());
    auto next = gradients.begin();
    for (Request* request : requests) {
      const auto count = static_cast<std::ptrdiff_t>(request->leaves.size());
      request->gradients.assign(next, next + count);
      next += count;
    }
  } catch (...) {
    for (Request* request : requests)
      request->error = std::current_exception();
  }
}

bool LaneGroup::has_open_graphs() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member* member) { return member->has_graph_; });
}

}  // namespace sotta
