#include "serve/streams/prediction_batch.h"

#include <algorithm>
#include <exception>
#include <future>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "engine/lane_group.h"
#include "gpu/device_work.h"
#include "gpu/download.h"
#include "gpu/upload.h"

namespace sotta {

struct PredictionBatch::Request {
  const Classifier& model;
  Lane lane;
  HostPrediction result = {};
  std::exception_ptr error = nullptr;

  // Each waits at a lock of its own: those that are done together do not meet
  // at one.
  std::mutex mutex = {};
  std::condition_variable is_done = {};
  bool done = false;

  at::Device device() const { return lane.state.affine.device(); }

  // Whether one call of forward_lanes() is best for both.
  bool is_alike(const Request& other) const {
    const Lane& a = lane;
    const Lane& b = other.lane;
    return &model == &other.model && a.state.body.is_same(b.state.body) &&
           a.images.sizes() == b.images.sizes() &&
           a.images.scalar_type() == b.images.scalar_type() &&
           a.images.device() == b.images.device() &&
           a.stats.source == b.stats.source &&
           a.stats.batch_share == b.stats.batch_share;
  }

  void finish() {
    const std::lock_guard lock(mutex);
    done = true;
    is_done.notify_one();
  }

  void wait() {
    std::unique_lock lock(mutex);
    is_done.wait(lock, [this] { return done; });
  }
};

namespace {

// The part of all lanes' rows that is lane i's.
at::Tensor rows_of(const at::Tensor& all, int64_t dimension, size_t i,
                   int64_t each) {
  return all.narrow(dimension, static_cast<int64_t>(i) * each, each);
}

// Lanes with images on their state's device.
std::vector<Lane> on_device(std::vector<Lane> lanes) {
  const at::Device device = lanes[0].state.affine.device();
  if (lanes[0].images.device() == device) return lanes;
  std::vector<at::Tensor> images;
  for (const Lane& lane : lanes)
    images.push_back(lane.images);
  const at::Tensor joined = upload(at::cat(images), device);
  const int64_t each = images[0].size(0);
  for (size_t i = 0; i < lanes.size(); ++i)
    lanes[i].images = rows_of(joined, 0, i, each);
  return lanes;
}

// Some more of the last where a GPU wants another number; nobody reads what it
// says of them.
std::vector<Lane> rounded_up(std::vector<Lane> lanes) {
  if (lanes[0].state.affine.is_cpu()) return lanes;
  const auto count = static_cast<int64_t>(lanes.size());
  const int64_t wanted = round_up_lanes(count, most_lanes(lanes[0].images));
  const Lane last = lanes.back();
  lanes.resize(static_cast<size_t>(wanted), last);
  return lanes;
}

// Of lanes that are alike.
std::vector<HostPrediction> predict_all(const Classifier& model,
                                        std::vector<Lane> lanes) {
  const int64_t each = lanes[0].images.size(0);
  const size_t count = lanes.size();
  auto results = model.forward_lanes(on_device(rounded_up(std::move(lanes))));
  results.resize(count);
  std::vector<at::Tensor> logits;
  for (const ForwardResult& result : results)
    logits.push_back(result.logits);
  const at::Tensor joined = logits.size() == 1 ? logits[0] : at::cat(logits);
  const auto host = download({joined, pack_prediction(joined)});
  std::vector<HostPrediction> predictions;
  for (size_t i = 0; i < results.size(); ++i)
    predictions.push_back({rows_of(host[0], 0, i, each),
                           read_prediction(rows_of(host[1], 1, i, each))});
  return predictions;
}

// What fails for one of several, or takes too much memory for all, is nothing
// to the others.
template <class Request>
void compute(const std::vector<Request*>& alike) {
  try {
    std::vector<Lane> lanes;
    for (const Request* request : alike)
      lanes.push_back(request->lane);
    auto results = predict_all(alike[0]->model, std::move(lanes));
    for (size_t i = 0; i < alike.size(); ++i)
      alike[i]->result = std::move(results[i]);
  } catch (...) {
    if (alike.size() == 1)
      alike[0]->error = std::current_exception();
    else
      for (Request* request : alike)
        compute<Request>({request});
  }
}

// Takes those that are like the first, as many as one pass should have.
template <class Request>
std::vector<Request*> take_alike(std::vector<Request*>& requests) {
  const Request& first = *requests.front();
  const auto most = static_cast<size_t>(most_lanes(first.lane.images));
  const auto others = std::stable_partition(
      requests.begin(), requests.end(),
      [&](const Request* request) { return request->is_alike(first); });
  const auto end = std::min(
      others, requests.begin() +
                  static_cast<std::ptrdiff_t>(std::min(most, requests.size())));
  std::vector<Request*> taken(requests.begin(), end);
  requests.erase(requests.begin(), end);
  return taken;
}

}  // namespace

int64_t round_up_lanes(int64_t lanes, int64_t most) {
  int64_t power = 1;
  while (2 * power <= lanes)
    power *= 2;
  const int64_t rounded = lanes == power           ? power
                          : 2 * lanes <= 3 * power ? 3 * power / 2
                                                   : 2 * power;
  return std::max(lanes, std::min(rounded, most));
}

// LibTorch keeps the number of threads per thread, and new threads begin with
// the last that any has set.
PredictionBatch::PredictionBatch(int64_t threads) : threads_(threads) {
  const int before = at::get_num_threads();
  std::promise<void> has_set;
  thread_ = std::thread([&has_set, this] {
    at::set_num_threads(static_cast<int>(threads_));
    has_set.set_value();
    serve();
  });
  has_set.get_future().wait();
  at::set_num_threads(before);
}

PredictionBatch::~PredictionBatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  has_request_.notify_one();
  thread_.join();
}

HostPrediction PredictionBatch::predict(const Classifier& model, Lane lane) {
  const PausedDeviceWork this_thread_waits;
  Request request{model, std::move(lane)};
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = waiting_.empty();
    waiting_.push_back(&request);
  }
  if (is_first) has_request_.notify_one();
  request.wait();
  if (request.error) std::rethrow_exception(request.error);
  return std::move(request.result);
}

// In the device's default queue, where other threads have put what they asked
// of it before.
void PredictionBatch::serve() {
  const at::NoGradGuard no_gradients;
  std::unique_lock lock(mutex_);
  for (;;) {
    has_request_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::vector<Request*> requests = std::exchange(waiting_, {});
    lock.unlock();
    while (!requests.empty()) {
      const std::vector<Request*> alike = take_alike(requests);
      {
        const DeviceWork at_work(alike[0]->device());
        compute(alike);
      }
      for (Request* request : alike)
        request->finish();
    }
    lock.lock();
  }
}

}  // namespace sotta
