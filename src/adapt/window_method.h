#pragma once

#include <any>
#include <functional>
#include <memory>
#include <utility>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"

namespace sotta {

// The frame of the methods that predict and adapt with the statistics of the
// window itself. When a window arrives in one piece, one forward pass serves
// the prediction and the loss, and on a GPU one wait the prediction and the
// update; otherwise its parts are kept until it is full.
class WindowMethod : public Method {
 public:
  at::Tensor predict(const at::Tensor& images) const override;
  Observation observe(const at::Tensor& images, bool completes_window) override;
  UpdateReport update() override;
  void drop_window(int64_t next) override;
  void exchange(StateArchive& archive) override;
  ModelState state() const override { return state_; }
  NormStats prediction_stats() const override { return NormStats::batch(); }

  // Whether observe() calls foresee() for a whole window, so that its numbers
  // come with the prediction. On a GPU it does; elsewhere there is no wait to
  // save, and the work is to count as the update's. The results are the same.
  void foresee_in_observe(bool early) { foresee_early_ = early; }

 protected:
  explicit WindowMethod(const MethodContext& context);

  // A window's pass with batch statistics, and the parameters its graph begins
  // at (a leaf over state_.affine's memory).
  struct Pass {
    at::Tensor images;
    at::Tensor affine;
    ForwardResult result;

    // A replayed pass comes with these in place of the above two.
    at::Tensor loss;
    at::Tensor gradient;

    // Whether all its logits are finite numbers. If not, nothing is learnt.
    bool finite = true;

    // Whether foresee() was called, what it gave, on the CPU, and what it left
    // for adapt().
    bool ahead = false;
    at::Tensor known;
    std::any foreseen;
  };

  // A loss as a function of a pass.
  using Loss = std::function<at::Tensor(const Pass&)>;

  // Runs a pass with gradients from `affine` on.
  Pass run(const at::Tensor& images, const at::Tensor& affine) const;

  // Whether a part of a window that completes it is all of it.
  bool is_whole(bool completes_window) const {
    return completes_window && !waiting_.defined();
  }

  // Keeps the whole window's pass for the update.
  void make_ready(Pass pass) { ready_ = std::move(pass); }

  // The part of an update that changes nothing yet, up to the numbers that the
  // rest must know on the CPU: floats on the device, undefined if there are
  // none. Must not wait for the device. Gradients are on.
  virtual at::Tensor foresee(Pass& /*pass*/) const { return {}; }

  // The rest of the update, and all of it that changes anything. Gradients are
  // on.
  virtual UpdateReport adapt(const Pass& pass) = 0;

  // The loss on these images with the parameters as they are now; undefined
  // unless the context asks for it.
  at::Tensor loss_after(const at::Tensor& images, const Loss& loss) const;

  const Classifier& model() const { return *model_; }
  at::Device device() const { return state_.affine.device(); }

  ModelState state_;

 private:
  Pass forward(const at::Tensor& images, const at::Tensor& affine) const;

  std::shared_ptr<const Classifier> model_;
  bool measure_loss_after_;
  bool foresee_early_;
  at::Tensor waiting_;  // images of the window that is filling
  Pass ready_;          // the whole window's pass, if it is at hand
};

}  // namespace sotta
