#include "sotta/adapt/rotta.h"

#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include "sotta/nn/augment.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"

#include "adapt/checks.h"
#include "adapt/image_memory.h"
#include "adapt/images.h"

namespace sotta {
namespace {

class Rotta : public Method {
 public:
  Rotta(const MethodContext& context, const RottaOptions& options)
      : options_(options),
        model_(context.model),
        measure_loss_after_(context.measure_loss_after),
        teacher_(model_->source().clone_norm()),
        student_(model_->source().clone_norm()),
        optimiser_(make_adam({options.learning_rate})),
        memory_(make_cstu_memory(options.memory_capacity, model_->classes(),
                                 options.quota_first),
                options.memory_capacity, model_->classes(),
                context.rng.child("memory")),
        augment_rng_(context.rng.child("augment")) {}

  at::Tensor predict(const at::Tensor& images) const override {
    const at::NoGradGuard no_gradients;
    return model_->forward(images, teacher_, NormStats::running()).logits;
  }

  // One pass gives predictions, pseudo-labels and uncertainties of all samples:
  // the teacher does not change before the window is full.
  Observation observe(const at::Tensor& images, bool) override {
    Observation seen;
    seen.logits = predict(images);
    seen.prediction = classify(seen.logits);
    seen.verdicts = memory_.offer(images, seen.prediction);
    return seen;
  }

  UpdateReport update() override {
    UpdateReport report;
    if (memory_.empty())
      report.skipped = "the memory is empty";
    else
      teach_student(report);
    // The teacher follows even a student that learned nothing this time.
    teacher_.affine.lerp_(student_.affine, 1 - options_.teacher_momentum);
    return report;
  }

  void exchange(StateArchive& archive) override {
    archive("teacher_affine", teacher_.affine);
    archive("teacher_running_mean", teacher_.running_mean);
    archive("teacher_running_var", teacher_.running_var);
    archive("student_affine", student_.affine);
    archive("student_running_mean", student_.running_mean);
    archive("student_running_var", student_.running_var);
    archive("adam", *optimiser_, student_.affine.device());
    archive("augment.rng", augment_rng_);
    memory_.exchange(archive, student_.affine.device());
  }

  ModelState state() const override { return teacher_; }
  ModelState trained_state() const override { return student_; }
  double statistics_share() const override { return options_.batch_share; }

 private:
  // The student learns to see in an augmented view of the memory what the
  // teacher sees in the memory.
  void teach_student(UpdateReport& report) {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor images = as_floats(memory_.images());
    const at::Tensor target = ask_teacher(images);
    const at::Tensor view = augment(images, augment_rng_);
    const at::Tensor before = student_.affine.clone();

    ModelState state = student_;  // its statistics stay those of before
    state.affine = as_leaf(student_.affine);
    const Pass pass = run_student(view, target, state);
    const at::Tensor gradient = gradient_of(pass.loss, state.affine);
    take_statistics(student_, pass.result);
    optimiser_->step(student_.affine, gradient);

    report.loss = pass.loss.detach();
    report.gradient_norm = gradient.norm();
    report.parameter_change = student_.affine.sub(before).norm();
    report.applied = true;
    if (!measure_loss_after_) return;
    const at::NoGradGuard no_gradients;
    state.affine = student_.affine;
    report.loss_after = run_student(view, target, state).loss;
  }

  at::Tensor ask_teacher(const at::Tensor& images) {
    const at::NoGradGuard no_gradients;
    const auto result = model_->forward(images, teacher_, statistics());
    take_statistics(teacher_, result);
    return result.logits;
  }

  struct Pass {
    at::Tensor loss;
    ForwardResult result;
  };
  Pass run_student(const at::Tensor& view, const at::Tensor& target,
                   const ModelState& state) const {
    auto result = model_->forward(view, state, statistics());
    const at::Tensor losses = distillation_loss(result.logits, target);
    return {(timeliness() * losses).mean(), std::move(result)};
  }

  // exp(-a) / (1 + exp(-a)) with a = age / capacity: 1/2 for a new sample, less
  // for older ones.
  at::Tensor timeliness() const {
    std::vector<float> ages;
    for (const auto& item : memory_.items())
      ages.push_back(static_cast<float>(item.age));
    const at::Tensor all = at::tensor(ages).to(student_.affine.device());
    return (-all / static_cast<double>(options_.memory_capacity)).sigmoid();
  }

  // Both networks normalise with a mixture of running and batch statistics,
  // which then is their running statistics.
  NormStats statistics() const {
    return NormStats::blended(options_.batch_share);
  }
  static void take_statistics(ModelState& state, const ForwardResult& result) {
    state.running_mean = result.batch_mean;
    state.running_var = result.batch_var;
  }

  RottaOptions options_;
  std::shared_ptr<const Classifier> model_;
  bool measure_loss_after_;
  ModelState teacher_;
  ModelState student_;
  std::unique_ptr<Optimiser> optimiser_;
  ImageMemory memory_;
  Rng augment_rng_;
};

}  // namespace

RottaOptions RottaOptions::preset(Preset preset, int64_t) {
  RottaOptions options;
  options.quota_first = preset == Preset::kClean;
  return options;
}

void validate(const RottaOptions& options) {
  require_within("memory_capacity", options.memory_capacity, 1, 1 << 20);
  require_within("batch_share", options.batch_share, 0, 1);
  require_within("teacher_momentum", options.teacher_momentum, 0, 1);
  require_positive("learning_rate", options.learning_rate);
}

std::unique_ptr<Method> make_rotta(const MethodContext& context,
                                   const RottaOptions& options) {
  validate(options);
  require_augmentable(*context.model);
  return std::make_unique<Rotta>(context, options);
}

}  // namespace sotta
