#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "sotta/adapt/method.h"
#include "sotta/nn/gradient.h"

#include "adapt/memory/images.h"

namespace sotta {

// A forward pass of a window under its own statistics.
struct WindowPass {
  at::Tensor images;
  at::Tensor affine;  // the parameters it was run with, a leaf for gradients
  ForwardResult result;
};

// The frame of the methods that predict and adapt with the statistics of the
// window itself. When a window arrives in one piece, one forward pass serves
// the prediction and the loss; otherwise its parts are kept until it is full.
//
// An update has two halves. assess() computes what changes nothing yet, adapt()
// does the rest. The executor decides whether assess() follows the prediction
// at once, so that the host waits once for both, or comes with the update; the
// results are the same.
//
// `Assessment` is the struct that assess() hands to adapt(). Its
// needed_on_host() lists pointers to those of its tensors, floats, whose values
// adapt() reads: they are on the host by then.
template <class Assessment>
class WindowMethod : public Method {
 public:
  at::Tensor predict(const at::Tensor& images) const override {
    const at::NoGradGuard no_gradients;
    return run(images, state_.affine).result.logits;
  }

  Observation observe(const at::Tensor& images, bool completes_window) override;
  UpdateReport update() override;

  void drop_window(int64_t) override {
    waiting_ = at::Tensor();
    ready_.reset();
  }

  void exchange(StateArchive& archive) override {
    archive("affine", state_.affine);
    // Of a window whose pass is ready the images are saved: update() of another
    // object makes the pass again.
    at::Tensor& images =
        archive.saving() && ready_ ? ready_->pass.images : waiting_;
    archive.images("waiting", images, device());
  }

  ModelState state() const override { return state_; }
  NormStats prediction_stats() const override { return NormStats::batch(); }

 protected:
  explicit WindowMethod(const MethodContext& context)
      : state_(context.model->source().clone_norm()),
        executor_(executor_of(context)),
        measure_loss_after_(context.measure_loss_after) {}

  // Must not wait for the device. Gradients are on.
  virtual Assessment assess(const WindowPass& window) const = 0;

  // Changes the parameters. Gradients are on.
  virtual UpdateReport adapt(const WindowPass& window,
                             const Assessment& assessment) = 0;

  // A window on its way from observe() to update().
  struct Window {
    WindowPass pass;
    at::Tensor prediction;                 // packed
    std::optional<Assessment> assessment;  // unless it comes with the update
    bool finite = true;  // all its logits; if not, nothing is learnt
  };

  // The pass of a whole window, its prediction and, where the executor wants it
  // early, the assessment. Must not wait for the device. Gradients are on.
  virtual Window look(const at::Tensor& images);

  WindowPass run(const at::Tensor& images, const at::Tensor& affine) const {
    ModelState state = state_;
    state.affine = affine;
    return {images, affine,
            executor_->forward(images, state, NormStats::batch())};
  }

  // The loss on these images with the parameters as they are now; undefined
  // unless the context asks for it.
  using Loss = std::function<at::Tensor(const WindowPass&)>;
  at::Tensor loss_after(const at::Tensor& images, const Loss& loss) const {
    if (!measure_loss_after_) return {};
    const at::NoGradGuard no_gradients;
    return loss(run(images, state_.affine));
  }

  const Executor& executor() const { return *executor_; }
  const Classifier& model() const { return executor_->model(); }
  at::Device device() const { return executor_->device(); }

  ModelState state_;

 private:
  std::shared_ptr<const Executor> executor_;
  bool measure_loss_after_;
  at::Tensor waiting_;           // images of the window that is filling
  std::optional<Window> ready_;  // the whole window, if it came in one piece
};

template <class Assessment>
typename WindowMethod<Assessment>::Window WindowMethod<Assessment>::look(
    const at::Tensor& images) {
  Window window;
  window.pass = run(images, as_leaf(state_.affine));
  window.prediction = pack_prediction(window.pass.result.logits);
  const bool needs_host = !Assessment().needed_on_host().empty();
  if (executor_->prepares_updates_early(needs_host))
    window.assessment = assess(window.pass);
  return window;
}

template <class Assessment>
Observation WindowMethod<Assessment>::observe(const at::Tensor& images,
                                              bool completes_window) {
  if (!completes_window || waiting_.defined()) {
    const at::Tensor logits = predict(images);
    waiting_ = join_images(waiting_, images);
    return observed(logits, classify(logits), Verdict::kPending);
  }
  const at::AutoGradMode with_gradients(true);
  Window window = look(images);
  std::vector<at::Tensor*> numbers;
  if (window.assessment) numbers = window.assessment->needed_on_host();
  numbers.push_back(&window.prediction);
  executor_->bring_to_host(numbers);

  const Prediction prediction = read_prediction(window.prediction);
  window.finite = all_finite(prediction);
  const at::Tensor logits = window.pass.result.logits.detach();
  ready_ = std::move(window);
  return observed(logits, prediction, Verdict::kPending);
}

template <class Assessment>
UpdateReport WindowMethod<Assessment>::update() {
  const at::AutoGradMode with_gradients(true);
  std::optional<Window> window = std::exchange(ready_, std::nullopt);
  if (!window) {
    const at::Tensor images = std::exchange(waiting_, {});
    if (!images.defined()) {
      UpdateReport report;
      report.skipped = "the window has no samples";
      return report;
    }
    window.emplace();
    window->pass = run(images, as_leaf(state_.affine));
    window->finite = all_finite(classify(window->pass.result.logits));
  }
  if (!window->finite) return not_finite(window->pass.images.size(0));
  if (!window->assessment) {
    window->assessment = assess(window->pass);
    executor_->bring_to_host(window->assessment->needed_on_host());
  }
  return adapt(window->pass, *window->assessment);
}

}  // namespace sotta
