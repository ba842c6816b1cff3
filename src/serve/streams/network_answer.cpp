#include "serve/streams/network_answer.h"

#include <ATen/core/grad_mode.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/gpu/device.h"

#include "gpu/device_work.h"

namespace sotta {
namespace {

template <class Number>
void append(const at::Tensor& values, std::vector<Number>& to) {
  const at::Tensor plain = values.cpu().contiguous();
  const auto* begin = plain.data_ptr<Number>();
  to.insert(to.end(), begin, begin + plain.numel());
}

}  // namespace

StreamAnswer not_screened(const at::Tensor& logits,
                          const Prediction& prediction, int64_t updates) {
  StreamAnswer answer;
  append_answer(logits, prediction, answer);
  answer.verdicts.assign(static_cast<size_t>(logits.size(0)),
                         Verdict::kNotScreened);
  answer.updates = updates;
  return answer;
}

void append_answer(const at::Tensor& logits, const Prediction& prediction,
                   StreamAnswer& answer) {
  answer.classes = logits.size(1);
  append(logits, answer.logits);
  append(prediction.labels, answer.labels);
  append(prediction.confidences, answer.confidences);
}

StreamAnswer answer_with(const Adapter& adapter, const at::Tensor& images) {
  const at::Device device = adapter.executor().device();
  const DeviceWork at_work(device);
  const at::Tensor logits = adapter.source_answers()
                                ? adapter.predict_logits(images.to(device))
                                : adapter.method().predict(images.to(device));
  return not_screened(logits, classify(logits), adapter.updates());
}

PublishedNetwork::PublishedNetwork(const Adapter& adapter)
    : executor_(adapter.executor()),
      updates_(adapter.updates()),
      height_(adapter.image_height()),
      width_(adapter.image_width()) {
  const DeviceWork at_work(executor_.device());
  state_ = adapter.state().clone_norm();
  wait_for(executor_.device());  // others' queues are to read it
}

// A method with a rule asks the source model alone, and never changes.
bool PublishedNetwork::can_publish(const Adapter& adapter) {
  return !find_method(adapter.name()).rule &&
         adapter.method().prediction_stats().source !=
             NormStats::Source::kBatch;
}

bool PublishedNetwork::fits(const at::Tensor& images) const {
  return height_ == 0 ||
         (images.size(2) == height_ && images.size(3) == width_);
}

StreamAnswer PublishedNetwork::answer(const at::Tensor& images) const {
  const DeviceWork at_work(executor_.device());
  const at::NoGradGuard no_gradients;
  const at::Tensor logits =
      executor_
          .forward(images.to(executor_.device()), state_, NormStats::running())
          .logits;
  return not_screened(logits, classify(logits), updates_);
}

}  // namespace sotta
