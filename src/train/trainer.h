#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "sotta/models/classifier.h"
#include "sotta/nn/optimiser.h"

#include "train/train_options.h"
#include "train/training_set.h"

namespace sotta {

struct EpochPlan;
class CudaGraph;

// Means over the steps that an epoch has made so far.
struct EpochFigures {
  double loss = 0;
  double accuracy = 0;  // percent, on the views trained on, as they came; of
                        // mixed ones the label with the larger share counts
};

// Everything that steps change, as copies: a trainer with this state continues
// as the one it was taken from.
struct TrainerState {
  int64_t step = 0;
  ModelState model;
  // The optimiser's vectors for body and norm layers: "momentum" of sgd,
  // "first_moment" and "second_moment" of adamw. None before the first step.
  std::map<std::string, at::Tensor> body_optimiser, affine_optimiser;
  at::Tensor losses;   // float [epochs], sums over steps
  at::Tensor correct;  // int64 [epochs], sums over steps
};

// The learning rate of step `step` of `steps`, counted from 0: a straight line
// that reaches `rate` with the last of the `warm_up` first steps, then half a
// cosine from `rate` towards 0 after the last.
double cosine_rate(double rate, int64_t step, int64_t steps,
                   int64_t warm_up = 0);

// Trains a classifier step by step. On the CPU the same options and images
// give the same bits at any thread count, and stopping and restoring at any
// step changes none of them. On a GPU a step is only queued: nothing waits for
// it but figures() and save(); its sums are not repeatable to the last bit.
//
// Needs the caller's lock.
class Trainer {
 public:
  // Starts from a copy of the model's source state; the model must outlive the
  // trainer. The options may say "auto". Throws Error(kInvalid) if options are
  // out of range, or the set's classes, channels or device are not the
  // model's, or it has fewer images than a batch.
  Trainer(const Classifier& model, const TrainingSet& set,
          const TrainOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  const TrainOptions& options() const { return options_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  int64_t steps() const { return steps_per_epoch_ * options_.epochs; }
  int64_t step() const { return step_; }  // made so far
  bool done() const { return step_ == steps(); }

  // Makes the next step; there must be one.
  void advance();

  // The weights as they are now. Shares memory with the trainer.
  const ModelState& state() const { return state_; }

  // Of an epoch, counted from 0, that has begun.
  EpochFigures figures(int64_t epoch) const;

  TrainerState save() const;

  // Throws Error(kInvalid), and changes nothing, if the state is that of
  // another network or of another number of steps.
  void restore(const TrainerState& saved);

 private:
  void begin_epoch(int64_t epoch);
  void make_step();
  at::Tensor views_of(const EpochPlan& batch) const;
  void descend(const at::Tensor& loss, const at::Tensor& body,
               const at::Tensor& affine);
  void blend_statistics(const ForwardResult& result);

  const Classifier& model_;
  TrainingSet set_;
  TrainOptions options_;
  int64_t steps_per_epoch_;
  int64_t step_ = 0;

  // All a step reads and writes lies on the device and stays where it is, so
  // that the step can be recorded.
  ModelState state_;
  at::Tensor rates_;                 // float [steps]
  at::Tensor rate_;                  // float [1], of the step being made
  at::Tensor next_step_;             // int64 [1]
  at::Tensor next_places_;           // int64 [batch], in the epoch's plan
  at::Tensor epoch_;                 // int64 [1]
  at::Tensor losses_, correct_;      // [epochs]
  std::unique_ptr<EpochPlan> plan_;  // of the epoch `planned_epoch_`
  int64_t planned_epoch_ = -1;
  std::unique_ptr<Optimiser> body_optimiser_, affine_optimiser_;
  std::unique_ptr<CudaGraph> graph_;
};

}  // namespace sotta
