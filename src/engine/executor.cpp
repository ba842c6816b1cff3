#include "sotta/engine/executor.h"

#include <utility>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "engine/lane_group.h"
#include "gpu/download.h"
#include "gpu/settings_scope.h"
#include "gpu/upload.h"

namespace sotta {
Executor::Executor(std::shared_ptr<const Classifier> model,
                   const ExecutorOptions& options)
    : model_(std::move(model)), options_(options) {
  require(model_ != nullptr, "executor", "expected a model, got none");
}

ForwardResult Executor::forward(const at::Tensor& images,
                                const ModelState& state,
                                NormStats stats) const {
  return model_->forward(images, state, stats);
}

std::vector<ForwardResult> Executor::forward_lanes(
    const std::vector<Lane>& lanes) const {
  return model_->forward_lanes(lanes);
}

int64_t Executor::lanes_at_once(const at::Tensor& images) const {
  return device().is_cpu() ? 1 : most_lanes(images);
}

at::Tensor Executor::gradient(const at::Tensor& loss,
                              const at::Tensor& leaf) const {
  return gradients(loss, {leaf})[0];
}

std::vector<at::Tensor> Executor::gradients(
    const at::Tensor& loss, const std::vector<at::Tensor>& leaves) const {
  const SettingsScope scope(model_->device_settings(), device());
  return gradients_of(loss, leaves);
}

void Executor::bring_to_host(const std::vector<at::Tensor*>& tensors) const {
  std::vector<at::Tensor> there;
  for (const at::Tensor* tensor : tensors)
    there.push_back(*tensor);
  const std::vector<at::Tensor> here = download(there);
  for (size_t i = 0; i < tensors.size(); ++i)
    *tensors[i] = here[i];
}

double Executor::number(const at::Tensor& scalar) const {
  return scalar.item<double>();
}

at::Tensor Executor::to_device(const at::Tensor& host) const {
  return upload(host, device());
}

bool Executor::prepares_updates_early(bool needs_host) const {
  return options_.cuda_graphs || (needs_host && device().is_cuda());
}

void Executor::begin_step(Optimiser& optimiser,
                          const at::Tensor& parameters) const {
  optimiser.begin_step(parameters, options_.cuda_graphs);
}

}  // namespace sotta
