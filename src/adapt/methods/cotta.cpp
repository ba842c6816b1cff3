#include "adapt/methods/cotta.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"

#include "adapt/memory/images.h"
#include "core/checks.h"
#include "nn/augment.h"
#include "nn/pixels.h"
#include "nn/random_tensor.h"

namespace sotta {
namespace {

// A state of its own in all that is trained. Running statistics are never used
// here: all three networks normalise with those of the batch.
ModelState clone_parameters(const ModelState& source) {
  return {source.body.clone(), source.affine.clone(), source.running_mean,
          source.running_var};
}

class Cotta : public Method {
 public:
  Cotta(const MethodContext& context, const CottaOptions& options)
      : options_(options),
        executor_(executor_of(context)),
        measure_loss_after_(context.measure_loss_after),
        teacher_(clone_parameters(model().source())),
        student_(clone_parameters(model().source())),
        body_optimiser_(adam()),
        affine_optimiser_(adam()),
        augment_rng_(context.rng.child("augment")),
        restore_rng_(context.rng.child("restore")) {}

  at::Tensor predict(const at::Tensor& images) const override {
    Rng rng = augment_rng_;
    return ask_teacher(images, rng);
  }

  // What the teacher answers is the prediction, and later the target.
  Observation observe(const at::Tensor& images, bool) override {
    Rng rng = augment_rng_;
    const at::Tensor logits = ask_teacher(images, rng);
    const Prediction prediction = classify(logits);
    at::Tensor all = join_images(images_, images);
    at::Tensor target = target_.defined() ? at::cat({target_, logits}) : logits;
    // Nothing has changed before: memory may run out in any of these passes.
    augment_rng_ = rng;
    images_ = std::move(all);
    target_ = std::move(target);
    if (all_finite(prediction)) known_finite_ += images.size(0);
    return observed(logits, prediction, Verdict::kPending);
  }

  UpdateReport update() override {
    UpdateReport report;
    const at::Tensor images = std::exchange(images_, {});
    const at::Tensor target = std::exchange(target_, {});
    if (!images.defined()) {
      report.skipped = "the window has no samples";
      return report;
    }
    if (!are_finite(target)) return not_finite(images.size(0));
    teach_student(images, target, report);
    const double share = 1 - options_.teacher_momentum;
    teacher_.body.lerp_(student_.body, share);
    teacher_.affine.lerp_(student_.affine, share);
    restore_some(student_.body, model().source().body);
    restore_some(student_.affine, model().source().affine);
    report.verdicts.assign(static_cast<size_t>(images.size(0)),
                           Verdict::kAdmitted);
    return report;
  }

  void drop_window(int64_t) override {
    images_ = target_ = at::Tensor();
    known_finite_ = 0;
  }

  void exchange(StateArchive& archive) override {
    const at::Device device = student_.affine.device();
    if (!archive.saving()) known_finite_ = 0;
    archive("student_body", student_.body);
    archive("student_affine", student_.affine);
    archive.survives_trial([&] {
      archive("teacher_body", teacher_.body);
      archive("teacher_affine", teacher_.affine);
      archive("adam_body", *body_optimiser_, student_.body);
      archive("adam_affine", *affine_optimiser_, student_.affine);
      archive("augment.rng", augment_rng_);
      archive("restore.rng", restore_rng_);
    });
    archive.images("waiting", images_, device);
    const at::Tensor waiting = archive.stored("waiting");
    archive.varying(
        "waiting_target", target_, device,
        {waiting.defined() ? waiting.size(0) : 0, model().classes()});
    if (waiting.defined() && !archive.stored("waiting_target").defined())
      fail(ErrorKind::kBadFormat, "snapshot",
           "expected the teacher's answers to the waiting images, found none");
  }

  ModelState state() const override { return teacher_; }
  ModelState trained_state() const override { return student_; }
  NormStats prediction_stats() const override { return NormStats::batch(); }

 private:
  std::unique_ptr<Optimiser> adam() const {
    return make_adam({options_.learning_rate, options_.weight_decay});
  }

  const Classifier& model() const { return executor_->model(); }

  at::Tensor run(const at::Tensor& images, const ModelState& state) const {
    return executor_->forward(images, state, NormStats::batch()).logits;
  }

  // The teacher's logits; where the source model is unsure, their mean over
  // augmented views.
  at::Tensor ask_teacher(const at::Tensor& images, Rng& rng) const {
    const at::NoGradGuard no_gradients;
    const at::Tensor confidence =
        run(images, model().source()).softmax(1).amax(1).mean();
    if (executor_->number(confidence) >= options_.anchor_confidence)
      return run(images, teacher_);

    const at::Tensor pixels = as_floats(images);
    const int64_t at_once = executor_->lanes_at_once(pixels);
    at::Tensor sum;
    for (int64_t done = 0; done < options_.augmentations; done += at_once) {
      std::vector<Lane> views;
      for (const at::Tensor& view : augment(
               pixels, rng, std::min(at_once, options_.augmentations - done)))
        views.push_back({view, teacher_, NormStats::batch()});
      for (const ForwardResult& view : executor_->forward_lanes(views))
        sum = sum.defined() ? sum.add_(view.logits) : view.logits;
    }
    return sum.div_(options_.augmentations);
  }

  // Whether all of the teacher's answers are finite. Asks the device only about
  // those that came with a snapshot.
  bool are_finite(const at::Tensor& answers) {
    const int64_t known = std::exchange(known_finite_, 0);
    return known == answers.size(0) ||
           executor_->number(answers.isfinite().all()) != 0;
  }

  // One step of all weights towards the teacher's answer.
  void teach_student(const at::Tensor& images, const at::Tensor& target,
                     UpdateReport& report) {
    const at::AutoGradMode with_gradients(true);
    ModelState state = student_;
    state.body = as_leaf(student_.body);
    state.affine = as_leaf(student_.affine);
    const at::Tensor loss =
        distillation_loss(run(images, state), target).mean();
    const auto gradients =
        executor_->gradients(loss, {state.body, state.affine});

    const at::Tensor before = student_.affine.clone();
    body_optimiser_->step(student_.body, gradients[0]);
    affine_optimiser_->step(student_.affine, gradients[1]);

    report.loss = loss.detach();
    report.gradient_norm =
        at::stack({gradients[0].norm(), gradients[1].norm()}).norm();
    report.parameter_change = student_.affine.sub(before).norm();
    report.applied = true;
    if (!measure_loss_after_) return;
    const at::NoGradGuard no_gradients;
    report.loss_after = distillation_loss(run(images, student_), target).mean();
  }

  void restore_some(at::Tensor& values, const at::Tensor& source) {
    const at::Tensor chosen =
        random_below(restore_rng_, values.sizes(), options_.restore_probability,
                     values.device());
    values = at::where(chosen, source, values);
  }

  CottaOptions options_;
  std::shared_ptr<const Executor> executor_;
  bool measure_loss_after_;
  ModelState teacher_;
  ModelState student_;
  std::unique_ptr<Optimiser> body_optimiser_;
  std::unique_ptr<Optimiser> affine_optimiser_;
  Rng augment_rng_;
  Rng restore_rng_;
  at::Tensor images_;         // of the window that is filling
  at::Tensor target_;         // the teacher's answers to them
  int64_t known_finite_ = 0;  // of these, at least so many are finite
};

}  // namespace

CottaOptions CottaOptions::preset(Preset preset, int64_t classes) {
  CottaOptions options;
  options.anchor_confidence = classes <= 10    ? 0.92
                              : classes <= 100 ? 0.72
                                               : 0.1;
  options.weight_decay = weight_decay_of(preset, classes);
  return options;
}

void validate(const CottaOptions& options) {
  require_within("anchor_confidence", options.anchor_confidence, 0, 1);
  require_within("augmentations", options.augmentations, 1, 1 << 20);
  require_within("teacher_momentum", options.teacher_momentum, 0, 1);
  require_within("restore_probability", options.restore_probability, 0, 1);
  require_positive("learning_rate", options.learning_rate);
  require_not_negative("weight_decay", options.weight_decay);
}

std::unique_ptr<Method> make_cotta(const MethodContext& context,
                                   const CottaOptions& options) {
  validate(options);
  require_augmentable(*context.model);
  return std::make_unique<Cotta>(context, options);
}

}  // namespace sotta
