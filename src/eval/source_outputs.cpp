#include "eval/source_outputs.h"

#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/gpu/device.h"

#include "adapt/answer.h"
#include "core/stopwatch.h"
#include "engine/recurring_work.h"
#include "gpu/device_work.h"
#include "gpu/upload.h"

namespace sotta {
namespace {

using Rule = MethodEntry::OutputRule;

class CachedMethod : public Method {
 public:
  CachedMethod(std::unique_ptr<Method> method, const Executor& executor,
               Rule rule, std::shared_ptr<const SourceOutputs> outputs)
      : method_(std::move(method)),
        answer_(executor,
                [rule = std::move(rule)](const std::vector<at::Tensor>& rows) {
                  return Answer(rule(rows[0], rows[1]));
                }),
        outputs_(std::move(outputs)) {}

  at::Tensor predict(const at::Tensor& images) const override {
    return method_->predict(images);
  }

  Observation observe(const at::Tensor& images, bool) override {
    const int64_t count = images.size(0);
    const Answer answer =
        answer_({outputs_->logits.narrow(0, position_, count),
                 outputs_->features.narrow(0, position_, count)});
    position_ += count;
    return observed(answer.logits, read_prediction(answer.packed),
                    Verdict::kNotScreened);
  }

  UpdateReport update() override { return method_->update(); }

  void drop_window(int64_t next) override {
    position_ = next;
    method_->drop_window(next);
  }

  void exchange(StateArchive& archive) override {
    archive("source_outputs.position", position_);
    method_->exchange(archive);
  }

  ModelState state() const override { return method_->state(); }

 private:
  std::unique_ptr<Method> method_;
  RecurringWork<Answer> answer_;  // the rule's
  std::shared_ptr<const SourceOutputs> outputs_;
  int64_t position_ = 0;
};

}  // namespace

SourceOutputs source_outputs(const Classifier& model, const StreamPlan& plan,
                             Stream& stream, const ProgressCallback& progress) {
  const at::NoGradGuard no_gradients;
  const at::Device device = model.source().affine.device();
  std::vector<at::Tensor> logits, features;
  SourceOutputs outputs;
  while (stream.position() < stream.size()) {
    const at::Tensor drawn = stream.next(plan.options().window);
    const DeviceWork at_work(device);
    const at::Tensor images = upload(drawn, device);
    const Stopwatch watch;
    const ForwardResult result =
        model.forward(images, model.source(), NormStats::running());
    wait_for(device);
    outputs.seconds += watch.seconds();
    logits.push_back(result.logits);
    if (result.features.defined()) features.push_back(result.features);
    const auto done = static_cast<int64_t>(logits.size());
    if (progress && !progress({done, plan.windows(), ""})) throw PassStopped();
  }
  outputs.logits = at::cat(logits);
  if (!features.empty()) outputs.features = at::cat(features);
  return outputs;
}

bool uses_source_outputs(const std::string& method) {
  return find_method(method).rule != nullptr;
}

std::unique_ptr<Method> make_cached_method(
    const std::string& method, const MethodContext& context, Preset preset,
    const OptionMap& changes, std::shared_ptr<const SourceOutputs> outputs) {
  const MethodEntry& entry = find_method(method);
  return std::make_unique<CachedMethod>(
      entry.make(context, preset, changes), *executor_of(context),
      entry.rule(preset, context.model->classes(), changes),
      std::move(outputs));
}

}  // namespace sotta
