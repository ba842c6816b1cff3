#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"

namespace sotta {

// The frame of the methods that predict and adapt with the statistics of the
// window itself. When a window arrives in one piece, one forward pass serves
// the prediction and the loss; otherwise its parts are kept until it is full.
class WindowMethod : public Method {
 public:
  at::Tensor predict(const at::Tensor& images) const override;
  Observation observe(const at::Tensor& images, bool completes_window) override;
  UpdateReport update() override;
  void exchange(StateArchive& archive) override;
  ModelState state() const override { return state_; }

 protected:
  explicit WindowMethod(const MethodContext& context);

  // A window's pass with batch statistics, and the parameters its graph begins
  // at (a leaf over state_.affine's memory).
  struct Pass {
    at::Tensor images;
    at::Tensor affine;
    ForwardResult result;
  };

  // Runs a pass with gradients from `affine` on.
  Pass run(const at::Tensor& images, const at::Tensor& affine) const;

  // The update proper.
  virtual UpdateReport adapt(const Pass& pass) = 0;

  const Classifier& model() const { return *model_; }
  at::Device device() const { return state_.affine.device(); }

  ModelState state_;

 private:
  std::shared_ptr<const Classifier> model_;
  at::Tensor waiting_;  // images of the window that is filling
  Pass ready_;          // the whole window's pass, if it is at hand
};

}  // namespace sotta
