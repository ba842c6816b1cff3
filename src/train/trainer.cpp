#include "train/trainer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "gpu/cuda_graph.h"
#include "gpu/device_work.h"
#include "gpu/settings_scope.h"
#include "nn/adamw.h"
#include "train/epoch_plan.h"

namespace sotta {
namespace {

// A batch's share of the running statistics, as everywhere in PyTorch.
constexpr double kNormMomentum = 0.1;

void check_training_set(const Classifier& model, const TrainingSet& set,
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

std::unique_ptr<Optimiser> make_optimiser(const TrainOptions& options,
                                          const at::Tensor& rate,
                                          const at::Tensor& decayed) {
  if (options.optimiser == "adamw")
    return make_adamw({options.rate, options.weight_decay, options.momentum},
                      /*mask=*/{}, decayed, rate);
  return make_sgd({options.rate, options.momentum, options.weight_decay,
                   /*nesterov=*/true},
                  /*mask=*/{}, rate);
}

// 1 for weights of convolutions and linear layers, 0 for the body's others:
// biases, a class token, positions.
at::Tensor weights_of(const Classifier& model) {
  ModelState marks = model.source();
  marks.body = at::zeros_like(marks.body);
  marks.affine = at::zeros_like(marks.affine);
  const std::string weight = ".weight";
  for (const auto& [name, tensor] : model.named_tensors(marks))
    if (name.size() > weight.size() &&
        name.compare(name.size() - weight.size(), weight.size(), weight) == 0)
      tensor.fill_(1);
  return marks.body;
}

at::Tensor all_rates(const TrainOptions& options, int64_t steps,
                     at::Device device) {
  const at::Tensor rates = at::empty({steps}, at::kFloat);
  auto* value = rates.data_ptr<float>();
  const int64_t warm_up = steps / options.epochs * options.warm_up;
  for (int64_t step = 0; step < steps; ++step)
    value[step] =
        static_cast<float>(cosine_rate(options.rate, step, steps, warm_up));
  return rates.to(device);
}

using Tensors = std::map<std::string, at::Tensor>;

Tensors there_of(Tensors tensors) {
  for (auto each = tensors.begin(); each != tensors.end();)
    each = each->second.defined() ? std::next(each) : tensors.erase(each);
  return tensors;
}

bool same_shape(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && a.sizes() == b.sizes();
}

// An optimiser's vectors are there from the first step on, not before.
bool fits(const Tensors& saved, const Optimiser& optimiser, int64_t step,
          const at::Tensor& values) {
  if (step <= 0) return saved.empty();
  const Tensors mine = optimiser.state().tensors;
  for (const auto& [name, tensor] : saved)
    if (mine.count(name) == 0 || !same_shape(tensor, values)) return false;
  return saved.size() == mine.size();
}

}  // namespace

double cosine_rate(double rate, int64_t step, int64_t steps, int64_t warm_up) {
  if (step < warm_up)
    return rate * static_cast<double>(step + 1) / static_cast<double>(warm_up);
  constexpr double kPi = 3.14159265358979323846;
  const double share = static_cast<double>(step - warm_up) /
                       static_cast<double>(steps - warm_up);
  return rate * (1 + std::cos(kPi * share)) / 2;
}

Trainer::Trainer(const Classifier& model, const TrainingSet& set,
                 const TrainOptions& options)
    : model_(model),
      set_(set),
      options_(resolve(options, set.images.device())),
      steps_per_epoch_(set.size() / options_.batch),
      state_(model.source().clone()) {
  check_training_set(model, set, options_);
  const at::Device device = set.images.device();
  const auto integers = at::TensorOptions(at::kLong).device(device);
  rates_ = all_rates(options_, steps(), device);
  rate_ = at::zeros({1}, rates_.options());
  next_step_ = at::zeros({1}, integers);
  next_places_ = at::zeros({options_.batch}, integers);
  epoch_ = at::zeros({1}, integers);
  losses_ = at::zeros({options_.epochs}, rates_.options());
  correct_ = at::zeros({options_.epochs}, integers);
  body_optimiser_ = make_optimiser(
      options_, rate_,
      options_.optimiser == "adamw" ? weights_of(model) : at::Tensor());
  affine_optimiser_ =
      make_optimiser(options_, rate_, at::zeros_like(state_.affine));
  graph_ = std::make_unique<CudaGraph>([this] { make_step(); }, device,
                                       options_.cuda_graphs);
}

Trainer::~Trainer() = default;

void Trainer::advance() {
  assert(!done());
  const DeviceWork at_work(set_.images.device());
  const int64_t epoch = step_ / steps_per_epoch_;
  if (planned_epoch_ != epoch) begin_epoch(epoch);
  body_optimiser_->begin_step(state_.body, /*captured=*/true);
  affine_optimiser_->begin_step(state_.affine, /*captured=*/true);
  graph_->run();
  ++step_;
}

// The step need not be the epoch's first: a training may have been restored.
void Trainer::begin_epoch(int64_t epoch) {
  const EpochPlan drawn = draw_epoch(set_, options_, epoch);
  if (plan_)
    plan_->copy_from(drawn);
  else
    plan_ = std::make_unique<EpochPlan>(drawn);
  planned_epoch_ = epoch;
  epoch_.fill_(epoch);
  next_step_.fill_(step_);
  const int64_t place = step_ % steps_per_epoch_ * options_.batch;
  next_places_.copy_(
      at::arange(place, place + options_.batch, next_places_.options()));
}

// Changes nothing but tensors: launching what it queued again is another step.
void Trainer::make_step() {
  const SettingsScope scope(model_.device_settings(), set_.images.device());
  const EpochPlan batch = plan_->select(next_places_);
  const at::Tensor labels = set_.labels.index_select(0, batch.order);

  const at::Tensor body = as_leaf(state_.body);
  const at::Tensor affine = as_leaf(state_.affine);
  ModelState trained = state_;
  trained.affine = affine;
  trained.body =
      body.to(options_.precision == "bf16" ? at::kBFloat16 : at::kFloat);
  const ForwardResult result =
      model_.forward(views_of(batch), trained, NormStats::batch());
  const at::Tensor loss =
      loss_of(result.logits, labels, batch.changes, options_.label_smoothing);

  descend(loss, body, affine);
  blend_statistics(result);
  losses_.index_add_(0, epoch_, loss.detach().view(1));
  correct_.index_add_(0, epoch_,
                      result.logits.detach()
                          .argmax(1)
                          .eq(main_labels(labels, batch.changes))
                          .sum()
                          .view(1));
  next_step_.add_(1);
  next_places_.add_(options_.batch);
}

// GPUs convolve fastest with a pixel's channels side by side. A plain copy,
// because images of one channel count as being in that layout whatever their
// strides.
at::Tensor Trainer::views_of(const EpochPlan& batch) const {
  const at::Tensor views = changed_views(cut_views(set_, batch), batch.changes);
  return views.is_cuda() ? views.clone(at::MemoryFormat::ChannelsLast) : views;
}

void Trainer::descend(const at::Tensor& loss, const at::Tensor& body,
                      const at::Tensor& affine) {
  const auto gradients = gradients_of(loss, {body, affine});
  rate_.copy_(rates_.index_select(0, next_step_));
  body_optimiser_->take_step(state_.body, gradients[0]);
  affine_optimiser_->take_step(state_.affine, gradients[1]);
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
          there_of(body_optimiser_->state().tensors),
          there_of(affine_optimiser_->state().tensors),
          losses_.clone(),
          correct_.clone()};
}

void Trainer::restore(const TrainerState& saved) {
  require(same_shape(saved.model.body, state_.body) &&
              same_shape(saved.model.affine, state_.affine) &&
              same_shape(saved.model.running_mean, state_.running_mean) &&
              same_shape(saved.model.running_var, state_.running_var) &&
              fits(saved.body_optimiser, *body_optimiser_, saved.step,
                   state_.body) &&
              fits(saved.affine_optimiser, *affine_optimiser_, saved.step,
                   state_.affine),
          "trainer state", "belongs to another network");
  require(saved.step >= 0 && saved.step <= steps() &&
              same_shape(saved.losses, losses_) &&
              same_shape(saved.correct, correct_),
          "trainer state", "belongs to a training of another length");

  const at::Device device = losses_.device();
  const auto optimiser_state = [&](Tensors tensors) {
    for (auto& [name, tensor] : tensors)
      tensor = tensor.to(device);
    return Optimiser::State{tensors, saved.step};
  };
  step_ = saved.step;
  planned_epoch_ = -1;
  state_ = saved.model.to(device).clone();
  body_optimiser_->set_state(optimiser_state(saved.body_optimiser));
  affine_optimiser_->set_state(optimiser_state(saved.affine_optimiser));
  losses_ = saved.losses.to(device).clone();
  correct_ = saved.correct.to(device).clone();
  graph_->reset();
}

}  // namespace sotta
