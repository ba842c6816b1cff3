#include "eval/gradient_probe.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "gpu/settings_scope.h"

namespace sotta {
namespace {

at::Tensor entropy_gradient_norm(const Classifier& model,
                                 const ModelState& state,
                                 const at::Tensor& image) {
  const at::AutoGradMode with_gradients(true);
  ModelState probe = state;
  probe.affine = as_leaf(state.affine);
  const at::Tensor loss =
      entropy(model.forward(image, probe, NormStats::running()).logits).sum();
  const SettingsScope scope(model.device_settings(), state.affine.device());
  return gradient_of(loss, probe.affine).norm();
}

}  // namespace

void GradientProbe::look(const Adapter& adapter, const at::Tensor& images,
                         const StreamPlan& plan, int64_t begin) {
  if (samples_ == 0) return;
  const ModelState state = adapter.state();
  std::vector<at::Tensor> own, foreign;
  for (int64_t i = 0; i < images.size(0); ++i) {
    auto& norms = plan[begin + i].benign() ? own : foreign;
    if (static_cast<int64_t>(norms.size()) < samples_)
      norms.push_back(entropy_gradient_norm(adapter.model(), state,
                                            images.slice(0, i, i + 1)));
  }
  const auto mean = [](const std::vector<at::Tensor>& norms) {
    return norms.empty() ? RunRecord::kNone
                         : at::stack(norms).mean().item<double>();
  };
  own_.push_back(mean(own));
  foreign_.push_back(mean(foreign));
}

void GradientProbe::fill(Series& series) const {
  if (samples_ == 0) return;
  series["gradient_norm_samples"] = own_;
  series["gradient_norm_foreign"] = foreign_;
}

}  // namespace sotta
