#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/prediction.h"
#include "sotta/adapt/screening.h"
#include "sotta/adapt/snapshot.h"
#include "sotta/adapt/verdict.h"
#include "sotta/core/rng.h"
#include "sotta/engine/executor.h"
#include "sotta/models/classifier.h"

namespace sotta {

// What a method is given when it is made: images and a network, never a label.
struct MethodContext {
  std::shared_ptr<const Classifier> model;

  // The root of the method's random streams; see docs/decisions.
  Rng rng{0};

  // Samples between two updates. Also the most that observe() is given at once.
  int64_t update_interval = 64;

  // Unlabelled images like those the model was trained on, uint8 or float
  // [N, C, H, W]. EATA needs some, SoTTA's automatic threshold can use them;
  // undefined if there are none.
  at::Tensor source_images;

  // Decides how the method's work reaches the model's device. None stands for
  // one with default options; see executor_of().
  std::shared_ptr<const Executor> executor;

  // Spend one more forward pass per update on UpdateReport::loss_after?
  bool measure_loss_after = false;
};

// The context's executor, or a new one for its model. Throws Error(kInvalid) if
// it is another model's.
std::shared_ptr<const Executor> executor_of(const MethodContext& context);

// What a method made of a part of a window.
struct Observation {
  at::Tensor logits;  // [N, K], detached; the prediction is their argmax
  Prediction prediction;
  std::vector<Verdict> verdicts;  // one per sample
  Screening screening = {};       // by a screen of the method's own

  // The source model's prediction, not the method's: a floor put it there. The
  // verdicts are the method's.
  bool by_source = false;
};

// With the same verdict on all samples.
Observation observed(at::Tensor logits, Prediction prediction, Verdict all);

// What an update did. The numbers are scalar tensors on the model's device,
// undefined where a method has none; reading one waits for the device, so they
// cost nothing unless they are read.
struct UpdateReport {
  bool applied = false;
  std::string skipped;  // why not, if it was not applied

  at::Tensor loss;               // before the step
  at::Tensor perturbed_loss;     // at the sharpest point nearby
  at::Tensor loss_after;         // on the same images after the step, if asked
  at::Tensor gradient_norm;      // of the trained parameters, at `loss`
  at::Tensor perturbation_norm;  // of the sharpness step
  at::Tensor parameter_change;   // norm of the change of the norm parameters

  // Verdicts on the window's samples. A method that decides before the update
  // leaves them out; an Adapter's reports have them all.
  std::vector<Verdict> verdicts;

  // What a guard found and did, empty if none tripped. An Adapter's word.
  std::string guard;

  // From here on a floor has the source model answer. An Adapter's word too.
  bool source_answers = false;
};

// Of an update that learnt nothing, as the logits of some of the window's
// samples are not finite.
UpdateReport not_finite(int64_t samples);

// One adaptation method. The Adapter in front of it checks images, cuts the
// stream into windows and calls in this order: observe() for each part of a
// window as it arrives, update() when the window is full.
class Method {
 public:
  virtual ~Method() = default;

  // The logits it would predict with now. Changes nothing, random streams
  // included.
  virtual at::Tensor predict(const at::Tensor& images) const = 0;

  // Predicts, and takes what it needs from the images. `completes_window` says
  // that update() or drop_window() is the next call to change it, so that a
  // pass may serve both; these images stay as they are until then.
  virtual Observation observe(const at::Tensor& images,
                              bool completes_window) = 0;

  // Adapts to the window.
  virtual UpdateReport update() = 0;

  // Forgets the samples that wait for an update, if any do: a guard has put the
  // method back to before it, or a snapshot is about to be loaded. The next
  // sample it is shown is the stream's `next`-th, counted from 0.
  virtual void drop_window(int64_t /*next*/) {}

  // The samples its memory holds, by their place in the stream; empty for a
  // method without a memory.
  virtual std::vector<int64_t> memory_samples() const { return {}; }

  // Their images [n, C, H, W], for people to look at; undefined if there are
  // none.
  virtual at::Tensor memory_images() const { return {}; }

  // Names every value that changes; see StateArchive. When it saves it changes
  // nothing; between observe() of a window's last part and update() it saves
  // the window's images.
  virtual void exchange(StateArchive& archive) = 0;

  // The state that predicts now: what is exported. Shares memory with the
  // method: later updates may change it.
  virtual ModelState state() const = 0;

  // The state that updates train: another one only where a teacher predicts.
  virtual ModelState trained_state() const { return state(); }

  // Where the network that predicts takes its norm statistics from. With
  // running ones a sample's logits are its own affair, with the batch's they
  // depend on the rest of the call.
  virtual NormStats prediction_stats() const { return NormStats::running(); }

  // The share of a window in the running statistics after it and its update, if
  // the update's batch is that window; 0 if they stay as they are.
  virtual double statistics_share() const { return 0; }
};

}  // namespace sotta
