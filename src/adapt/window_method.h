#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "sotta/adapt/method.h"
#include "sotta/nn/gradient.h"

#include "adapt/answer.h"
#include "adapt/memory/images.h"
#include "engine/recurring_work.h"

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
// results are the same. Prediction and assessment of a whole window are work
// that recurs (engine/recurring_work.h).
//
// `Assessment` is the struct of tensors that assess() hands to adapt(). Its
// tensors() lists pointers to all of them, its needed_on_host() to those,
// floats, whose values adapt() reads: they are on the host by then.
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
        measure_loss_after_(context.measure_loss_after),
        look_ahead_(*executor_, [this](const at::Tensor& images) {
          const at::AutoGradMode with_gradients(true);
          const WindowPass pass = run(images, as_leaf(state_.affine));
          return Outlook{Answer(pass.result.logits.detach()), assess(pass)};
        }) {}

  // As RecurringWork wants its functions: must not wait for the device, nor
  // decide anything on the host that changes from window to window. What it
  // reads of the method stays in its place. Gradients are on.
  virtual Assessment assess(const WindowPass& window) const = 0;

  // Changes the parameters, in place. Gradients are on.
  virtual UpdateReport adapt(const at::Tensor& images,
                             const Assessment& assessment) = 0;

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
  // A window on its way from observe() to update().
  struct Window {
    WindowPass pass;                       // of an assessed one only the images
    std::optional<Assessment> assessment;  // unless it comes with the update
    bool finite = true;  // all its logits; if not, nothing is learnt
  };

  // What the parameters as they are say of a whole window.
  struct Outlook {
    Answer answer;
    Assessment assessment;

    std::vector<at::Tensor*> tensors() {
      std::vector<at::Tensor*> all = answer.tensors();
      for (at::Tensor* tensor : assessment.tensors())
        all.push_back(tensor);
      return all;
    }
  };

  std::shared_ptr<const Executor> executor_;
  bool measure_loss_after_;
  RecurringWork<Outlook> look_ahead_;
  at::Tensor waiting_;           // images of the window that is filling
  std::optional<Window> ready_;  // the whole window, if it came in one piece
};

template <class Assessment>
Observation WindowMethod<Assessment>::observe(const at::Tensor& images,
                                              bool completes_window) {
  if (!completes_window || waiting_.defined()) {
    const at::Tensor logits = predict(images);
    const Prediction prediction = classify(logits);
    waiting_ = join_images(waiting_, images);  // last: memory may run out
    return observed(logits, prediction, Verdict::kPending);
  }
  const at::AutoGradMode with_gradients(true);
  Window window;
  Answer answer;
  std::vector<at::Tensor*> numbers;
  const bool needs_host = !Assessment().needed_on_host().empty();
  if (executor_->prepares_updates_early(needs_host)) {
    Outlook outlook = look_ahead_(images);
    answer = outlook.answer;
    window.pass.images = images;
    window.assessment = std::move(outlook.assessment);
    numbers = window.assessment->needed_on_host();
  } else {
    window.pass = run(images, as_leaf(state_.affine));
    answer = Answer(window.pass.result.logits.detach());
  }
  numbers.push_back(&answer.packed);
  executor_->bring_to_host(numbers);

  const Prediction prediction = read_prediction(answer.packed);
  window.finite = all_finite(prediction);
  ready_ = std::move(window);
  return observed(answer.logits, prediction, Verdict::kPending);
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
  return adapt(window->pass.images, *window->assessment);
}

}  // namespace sotta
