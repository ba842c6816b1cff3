#include "adapt/window_method.h"

#include <utility>

#include <ATen/core/grad_mode.h>

#include "sotta/nn/download.h"
#include "sotta/nn/gradient.h"

#include "adapt/images.h"

namespace sotta {

WindowMethod::WindowMethod(const MethodContext& context)
    : state_(context.model->source().clone_norm()),
      model_(context.model),
      measure_loss_after_(context.measure_loss_after),
      foresee_early_(device().is_cuda()) {}

at::Tensor WindowMethod::predict(const at::Tensor& images) const {
  const at::NoGradGuard no_gradients;
  return model_->forward(images, state_, NormStats::batch()).logits;
}

WindowMethod::Pass WindowMethod::forward(const at::Tensor& images,
                                         const at::Tensor& affine) const {
  ModelState state = state_;
  state.affine = affine;
  Pass pass;
  pass.images = images;
  pass.affine = affine;
  pass.result = model_->forward(images, state, NormStats::batch());
  return pass;
}

WindowMethod::Pass WindowMethod::run(const at::Tensor& images,
                                     const at::Tensor& affine) const {
  const at::AutoGradMode with_gradients(true);
  return forward(images, affine);
}

Observation WindowMethod::observe(const at::Tensor& images,
                                  bool completes_window) {
  if (!is_whole(completes_window)) {
    const at::Tensor logits = predict(images);
    waiting_ = join_images(waiting_, images);
    return observed(logits, classify(logits), Verdict::kPending);
  }
  const at::AutoGradMode with_gradients(true);
  Pass pass = run(images, as_leaf(state_.affine));
  const at::Tensor logits = pass.result.logits.detach();
  const auto here = download(
      {pack_prediction(logits), foresee_early_ ? foresee(pass) : at::Tensor()});
  const Prediction prediction = read_prediction(here[0]);
  pass.finite = all_finite(prediction);
  pass.ahead = foresee_early_;
  pass.known = here[1];
  make_ready(std::move(pass));
  return observed(logits, prediction, Verdict::kPending);
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
    pass.finite = all_finite(classify(pass.result.logits));
  }
  if (!pass.finite) return not_finite(pass.images.size(0));
  const at::AutoGradMode with_gradients(true);
  if (!pass.ahead) pass.known = download({foresee(pass)})[0];
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
  return loss(forward(images, state_.affine));
}

void WindowMethod::exchange(StateArchive& archive) {
  archive("affine", state_.affine);
  archive.images("waiting", waiting_, device());
}

}  // namespace sotta
