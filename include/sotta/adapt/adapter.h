#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/guard.h"
#include "sotta/adapt/method.h"
#include "sotta/models/classifier.h"

namespace sotta {

// What one call of step() gave.
struct StepResult {
  at::Tensor logits;  // [N, K] on the model's device
  Prediction prediction;
  std::vector<Verdict> verdicts;  // one per sample, after the updates

  // Of the call's samples, by a screen of the method's own, with the gate as it
  // was after the last of them; empty without one.
  Screening screening;

  // One per window that the call filled; often one or none. An update that was
  // due before the call comes first.
  std::vector<UpdateReport> updates;

  // The part of the call that went into updates. A GPU may still be at work on
  // the last of them; what EATA and SAR do there before they change anything
  // counts as prediction, not here.
  double update_seconds = 0;

  // What guards found and did, one after another; empty if none tripped.
  std::string guard;

  int64_t by_source = 0;  // predictions that a floor had the source model make
};

// Adapts a classifier to a stream of unlabelled images, predicting every image
// before learning from it.
//
// The stream is cut into windows of `update_interval` samples, whatever the
// size of the calls: one image at a time, whole windows, or more. An update
// follows the last sample of a window; a call that spans several windows is
// treated as several calls. A last, partial window is predicted and not adapted
// on.
//
// Where calls end inside windows matters to the methods that look at a call's
// images together: BN Stats, PL, TENT, EATA, SAR and CoTTA normalise with their
// statistics, LAME compares them. They predict a window that comes in parts
// part by part. PL, TENT, EATA and SAR learn from it what they would learn from
// the whole one; CoTTA learns from its answers, and so something else, and so
// does Screened SoTTA at first (docs/adapter.md). Calls that end with windows
// give what one call would, and to Source, RoTTA and SoTTA it never matters. A
// snapshot between two calls changes nothing in this.
//
// Not thread-safe: const methods may run at once, others need the caller's
// lock. Adapters on one device may run at once, each in a thread of its own,
// and wait for each other where the device asks for it (DeviceWork).
class Adapter {
 public:
  // Throws Error(kInvalid) if an option is out of range.
  Adapter(std::string name, std::unique_ptr<Method> method,
          const MethodContext& context, const GuardOptions& guard = {});
  ~Adapter();

  // Predicts, then adapts. `images` is uint8, or float in [0, 1],
  // [N, C, H, W] on the model's device.
  //
  // Throws Error(kInvalid) for images of another shape, type or device, of
  // another height or width than before, out of range or not finite; nothing
  // has changed then.
  StepResult step(const at::Tensor& images);

  // The halves of step(), for callers that answer now and learn later:
  // observe() predicts, screens and fills the window, update() learns from a
  // full one. observe() of every part of a window, then update(), gives the
  // bits of step() of the same parts.
  //
  // observe() takes room() images at most, those up to the window's end. While
  // an update is due that is none: answers from now on are the updated
  // network's. The images are the caller's again when it returns. Throws
  // Error(kInvalid) for more images, and as step() does; nothing has changed
  // then.
  Observation observe(const at::Tensor& images);

  // The report's verdicts are those of all samples of the window, as they stand
  // now. Throws Error(kInvalid) if no update is due.
  UpdateReport update();
  bool update_due() const { return room() == 0; }
  int64_t room() const { return update_interval_ - progress_.pending; }

  // step() without the guards, for trial steps that take_back() undoes:
  // guards watch the stream, and a trial is no part of it. Floats out of range
  // are the caller's to avoid: to find them would wait for the device.
  StepResult rehearse(const at::Tensor& images);

  // What the network predicts now, before an update that is due; the source
  // model, where a floor has it answer. Changes nothing.
  Prediction predict(const at::Tensor& images) const;
  at::Tensor predict_logits(const at::Tensor& images) const;  // [N, K]

  // The whole state with the guards' history, at any moment, and back:
  // restored into an adapter with the same network and options, it continues
  // bit for bit. restore() throws Error(kBadFormat) if the snapshot belongs to
  // another method or network, and changes nothing then.
  //
  // The guards' options may differ: they are no part of a snapshot. Without
  // guards the history is left out, here and there. For guards that find none
  // the stream begins at restore(): they forget what came before, and roll back
  // to no earlier state.
  //
  // Snapshots may share tensors; nobody changes them in place.
  Snapshot snapshot() const;
  void restore(const Snapshot& snapshot);

  // restore() after rehearse(), without the guards' notice. Can leave the
  // method what survives a trial in the published code
  // (StateArchive::survives_trial).
  void take_back(const Snapshot& before, bool keep_survivors = false);

  // Whether the method has any state that a step could change.
  bool keeps_state() const;

  // Back to the moment it was made; the guards forget everything too.
  void reset();

  // The network that answers: as adapted so far, or the source model where a
  // floor has it answer. Later steps and restore() may change it.
  ModelState state() const { return answering().state(); }
  NormStats prediction_stats() const { return answering().prediction_stats(); }

  bool source_answers() const;  // a floor has it answer at present

  const Classifier& model() const { return executor_->model(); }
  const Method& method() const { return *method_; }

  // What passes of this adapter's stream are to be run by.
  const Executor& executor() const { return *executor_; }

  const std::string& name() const { return name_; }
  int64_t samples() const { return progress_.samples; }  // seen so far
  int64_t updates() const { return progress_.updates; }  // applied so far

  // Samples of the window that is filling: 0 after its update.
  int64_t pending() const { return progress_.pending; }

  // Height and width that images must have: those of the first; 0 before it.
  int64_t image_height() const { return height_; }
  int64_t image_width() const { return width_; }

  // The samples that the method's memory holds, each as the number of samples
  // seen before it; empty for a method without a memory. Waits for no device.
  std::vector<int64_t> memory_samples() const {
    return method_->memory_samples();
  }
  at::Tensor memory_images() const { return method_->memory_images(); }

 private:
  class Guard;

  // What the adapter itself counts, beside the method.
  struct Progress {
    int64_t pending = 0;  // samples of the window that is filling
    int64_t samples = 0;
    int64_t updates = 0;
    std::vector<Verdict> verdicts;  // on the pending ones

    void exchange(StateArchive& archive);
  };

  at::Device device() const { return executor_->device(); }
  const Method& answering() const;
  void check(const at::Tensor& images) const;
  void check_range(const at::Tensor& images) const;
  Observation take(const at::Tensor& part);
  UpdateReport learn();
  void act_on(const std::string& trouble, const std::string& action,
              const Snapshot& before, UpdateReport& report);
  StepResult run(const at::Tensor& images);

  Snapshot save() const;
  StateArchive open(const Snapshot& snapshot, Progress& progress,
                    bool keep_survivors = false) const;
  void load(const Snapshot& snapshot, bool keep_survivors = false);

  std::string name_;
  std::unique_ptr<Method> method_;
  std::shared_ptr<const Executor> executor_;
  int64_t update_interval_;
  Progress progress_;
  int64_t height_ = 0;  // of the images so far; 0 before the first
  int64_t width_ = 0;
  std::unique_ptr<Guard> guard_;  // none if guards are off
  Snapshot initial_;
};

}  // namespace sotta
