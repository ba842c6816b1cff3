#include "adapt/window_method.h"

#include <utility>

#include <ATen/core/grad_mode.h>

#include "sotta/nn/gradient.h"

#include "adapt/images.h"

namespace sotta {

WindowMethod::WindowMethod(const MethodContext& context)
    : state_(context.model->source().clone_norm()),
      model_(context.model),
      measure_loss_after_(context.measure_loss_after) {}

at::Tensor WindowMethod::predict(const at::Tensor& images) const {
  const at::NoGradGuard no_gradients;
  return model_->forward(images, state_, NormStats::batch()).logits;
}

WindowMethod::Pass WindowMethod::run(const at::Tensor& images,
                                     const at::Tensor& affine) const {
  const at::AutoGradMode with_gradients(true);
  ModelState state = state_;
  state.affine = affine;
  return {images,
          affine,
          model_->forward(images, state, NormStats::batch()),
          {},
          {}};
}

Observation WindowMethod::observe(const at::Tensor& images,
                                  bool completes_window) {
  at::Tensor logits;
  if (is_whole(completes_window)) {
    make_ready(run(images, as_leaf(state_.affine)));
    logits = ready_.result.logits.detach();
  } else {
    logits = predict(images);
    waiting_ = join_images(waiting_, images);
  }
  return observed(logits, classify(logits), Verdict::kPending);
}

UpdateReport WindowMethod::update() {
  Pass pass = std::exchange(ready_, {});
  if (!pass.images.defined()) {
    const at::Tensor images = std::exchange(waiting_, {});
    if (!images.defined()) {
      UpdateReport report;
      report.skipped = "the window has no samples";
      return report;
    }
    pass = run(images, as_leaf(state_.affine));
  }
  const at::AutoGradMode with_gradients(true);
  return adapt(pass);
}

void WindowMethod::drop_window(int64_t) {
  waiting_ = at::Tensor();
  ready_ = {};
}

at::Tensor WindowMethod::loss_after(const at::Tensor& images,
                                    const Loss& loss) const {
  if (!measure_loss_after_) return {};
  const at::NoGradGuard no_gradients;
  return loss({images,
               state_.affine,
               model_->forward(images, state_, NormStats::batch()),
               {},
               {}});
}

void WindowMethod::exchange(StateArchive& archive) {
  archive("affine", state_.affine);
  archive.images("waiting", waiting_, device());
}

}  // namespace sotta
