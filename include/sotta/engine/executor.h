#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "sotta/models/classifier.h"
#include "sotta/nn/optimiser.h"

namespace sotta {

struct ExecutorOptions {
  // On a GPU, capture recurring work as CUDA graphs and launch these? Changes
  // speed, and the last bits of RoTTA's and SoTTA's steps.
  bool cuda_graphs = false;
};

// How the work of a method reaches the device that its model is on. A method
// says what is to be computed, for one stream; the executor decides what is
// captured as a CUDA graph and what is padded (RecurringWork), when the host
// waits, and whether passes of several streams are computed together
// (LaneGroup). All passes of a method go through forward() and gradients().
//
// Const methods may run at once from several threads.
class Executor {
 public:
  explicit Executor(std::shared_ptr<const Classifier> model,
                    const ExecutorOptions& options = {});
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const Classifier& model() const { return *model_; }
  const ExecutorOptions& options() const { return options_; }
  at::Device device() const { return model_->source().affine.device(); }

  // Classifier::forward() of the model; gradients as the thread has them
  // switched on or off.
  virtual ForwardResult forward(const at::Tensor& images,
                                const ModelState& state, NormStats stats) const;

  // Classifier::forward_lanes(). At most lanes_at_once() of batches like
  // `images` should come in one call: as many as use a GPU well, one on a CPU.
  std::vector<ForwardResult> forward_lanes(
      const std::vector<Lane>& lanes) const;
  int64_t lanes_at_once(const at::Tensor& images) const;

  // How many streams' passes the calling thread's last one was computed
  // together with, its own included.
  virtual int64_t streams_at_once() const { return 1; }

  // gradient_of() and gradients_of(): the pass back.
  at::Tensor gradient(const at::Tensor& loss, const at::Tensor& leaf) const;
  virtual std::vector<at::Tensor> gradients(
      const at::Tensor& loss, const std::vector<at::Tensor>& leaves) const;

  // Replaces float tensors of the device by their values on the host. Waits for
  // the device once, however many they are, and not at all for none.
  void bring_to_host(const std::vector<at::Tensor*>& tensors) const;

  // The value of a tensor of one element. Waits for the device.
  double number(const at::Tensor& scalar) const;

  // A tensor of the host on the device, without waiting; see upload().
  at::Tensor to_device(const at::Tensor& host) const;

  // Whether the part of an update that changes nothing yet is to be queued with
  // the prediction. On a GPU that saves a wait if the update has to know
  // numbers of it on the host (`needs_host`), and with CUDA graphs both are one
  // graph. Elsewhere there is nothing to save, and the time is to count as the
  // update's. The results are the same.
  bool prepares_updates_early(bool needs_host) const;

  // Optimiser::begin_step(), for steps whose other half, take_step(), is part
  // of RecurringWork.
  void begin_step(Optimiser& optimiser, const at::Tensor& parameters) const;

 private:
  std::shared_ptr<const Classifier> model_;
  ExecutorOptions options_;
};

}  // namespace sotta
