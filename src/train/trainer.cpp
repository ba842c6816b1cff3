#include "sotta/train/trainer.h"

#include <algorithm>
#include <cassert>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "train/epoch_plan.h"
#include "train/schedule.h"

namespace sotta {
namespace {

// A batch's share of the running statistics, as everywhere in PyTorch.
constexpr double kNormMomentum = 0.1;

void check_fit(const Classifier& model, const TrainingSet& set,
               const TrainOptions& options) {
  require(model.classes() == set.classes, "training",
          "the model tells " + std::to_string(model.classes()) +
              " classes apart, the images have " + std::to_string(set.classes));
  require(model.channels() == set.shape().channels, "training",
          "the model takes images of " + std::to_string(model.channels()) +
              " channels, these have " + std::to_string(set.shape().channels));
  require(model.source().affine.device() == set.images.device(), "training",
          "expected model and images on one device");
  require(options.batch <= set.size(), "batch",
          "expected at most the number of training images, " +
              std::to_string(set.size()) + ", got " +
              std::to_string(options.batch));
}

std::unique_ptr<Optimiser> make_optimiser(const TrainOptions& options) {
  return make_sgd({options.rate, options.momentum, options.weight_decay,
                   /*nesterov=*/true});
}

Optimiser::State optimiser_state(const at::Tensor& momentum, int64_t steps) {
  return {{{"momentum", momentum}}, steps};
}

}  // namespace

Trainer::Trainer(const Classifier& model, const TrainingSet& set,
                 const TrainOptions& options)
    : model_(model),
      set_(set),
      options_(resolve(options, set.images.device())),
      steps_per_epoch_(set.size() / options_.batch),
      state_(model.source().clone()),
      body_optimiser_(make_optimiser(options_)),
      affine_optimiser_(make_optimiser(options_)) {
  check_fit(model, set, options_);
  const at::TensorOptions on_device = set.labels.options();
  losses_ = at::zeros({options_.epochs}, on_device.dtype(at::kFloat));
  correct_ = at::zeros({options_.epochs}, on_device);
}

Trainer::~Trainer() = default;

void Trainer::advance() {
  assert(!done());
  const int64_t epoch = step_ / steps_per_epoch_;
  if (planned_epoch_ != epoch) {
    plan_ = std::make_unique<EpochPlan>(draw_epoch(set_, options_, epoch));
    planned_epoch_ = epoch;
  }
  const EpochPlan batch =
      plan_->narrow(step_ % steps_per_epoch_ * options_.batch, options_.batch);
  const at::Tensor labels = set_.labels.index_select(0, batch.order);

  const at::Tensor body = as_leaf(state_.body);
  const at::Tensor affine = as_leaf(state_.affine);
  ModelState trained = state_;
  trained.affine = affine;
  trained.body =
      body.to(options_.precision == "bf16" ? at::kBFloat16 : at::kFloat);
  const ForwardResult result =
      model_.forward(next_views(batch), trained, NormStats::batch());
  const at::Tensor loss = at::cross_entropy_loss(result.logits, labels);

  descend(loss, body, affine);
  blend_statistics(result);
  losses_.select(0, epoch).add_(loss.detach());
  correct_.select(0, epoch).add_(
      result.logits.detach().argmax(1).eq(labels).sum());
  ++step_;
}

// GPUs convolve fastest with a pixel's channels side by side. A plain copy,
// because images of one channel count as being in that layout whatever their
// strides.
at::Tensor Trainer::next_views(const EpochPlan& batch) const {
  const at::Tensor views = cut_views(set_, batch);
  return views.is_cuda() ? views.clone(at::MemoryFormat::ChannelsLast) : views;
}

void Trainer::descend(const at::Tensor& loss, const at::Tensor& body,
                      const at::Tensor& affine) {
  const auto gradients = gradients_of(loss, {body, affine});
  const double rate = cosine_rate(options_.rate, step_, steps());
  body_optimiser_->set_learning_rate(rate);
  body_optimiser_->step(state_.body, gradients[0]);
  affine_optimiser_->set_learning_rate(rate);
  affine_optimiser_->step(state_.affine, gradients[1]);
}

void Trainer::blend_statistics(const ForwardResult& result) {
  const auto blend = [](const at::Tensor& running, const at::Tensor& batch) {
    running.mul_(1 - kNormMomentum).add_(batch, kNormMomentum);
  };
  blend(state_.running_mean, result.batch_mean);
  blend(state_.running_var, result.batch_var);
}

EpochFigures Trainer::figures(int64_t epoch) const {
  const int64_t before = epoch * steps_per_epoch_;
  assert(before < step_);
  const auto made =
      static_cast<double>(std::min(step_ - before, steps_per_epoch_));
  EpochFigures figures;
  figures.loss = losses_[epoch].item<double>() / made;
  figures.accuracy = 100 * correct_[epoch].item<double>() /
                     (made * static_cast<double>(options_.batch));
  return figures;
}

TrainerState Trainer::save() const {
  return {step_,
          state_.clone(),
          body_optimiser_->state().tensors.at("momentum"),
          affine_optimiser_->state().tensors.at("momentum"),
          losses_.clone(),
          correct_.clone()};
}

void Trainer::restore(const TrainerState& saved) {
  const auto same_shape = [](const at::Tensor& a, const at::Tensor& b) {
    return a.defined() && a.sizes() == b.sizes();
  };
  // Momentum is there from the first step on, not before.
  const auto fits = [&](const at::Tensor& momentum, const at::Tensor& values) {
    return saved.step > 0 ? same_shape(momentum, values) : !momentum.defined();
  };
  require(same_shape(saved.model.body, state_.body) &&
              same_shape(saved.model.affine, state_.affine) &&
              same_shape(saved.model.running_mean, state_.running_mean) &&
              same_shape(saved.model.running_var, state_.running_var) &&
              fits(saved.body_momentum, state_.body) &&
              fits(saved.affine_momentum, state_.affine),
          "trainer state", "belongs to another network");
  require(saved.step >= 0 && saved.step <= steps() &&
              same_shape(saved.losses, losses_) &&
              same_shape(saved.correct, correct_),
          "trainer state", "belongs to a training of another length");

  const at::Device device = losses_.device();
  const auto here = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device) : tensor;
  };
  step_ = saved.step;
  state_ = saved.model.to(device).clone();
  body_optimiser_->set_state(
      optimiser_state(here(saved.body_momentum), saved.step));
  affine_optimiser_->set_state(
      optimiser_state(here(saved.affine_momentum), saved.step));
  losses_ = saved.losses.to(device).clone();
  correct_ = saved.correct.to(device).clone();
}

}  // namespace sotta
