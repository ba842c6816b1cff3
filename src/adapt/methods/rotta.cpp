#include "adapt/methods/rotta.h"

#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"

#include "adapt/memory/images.h"
#include "adapt/memory_method.h"
#include "core/checks.h"
#include "engine/recurring_work.h"
#include "nn/augment.h"
#include "nn/pixels.h"

namespace sotta {
namespace {

// The state that predicts is the teacher.
class Rotta : public MemoryMethod {
 public:
  Rotta(const MethodContext& context, const RottaOptions& options)
      : MemoryMethod(
            context,
            make_cstu_memory(options.memory_capacity, context.model->classes(),
                             options.quota_first),
            options.memory_capacity),
        options_(options),
        student_(model().source().clone_norm()),
        optimiser_(make_adam({options.learning_rate})),
        augment_rng_(context.rng.child("augment")),
        step_(
            executor(),
            [this](const std::vector<at::Tensor>& given) {
              return teach_student(given[0], given[1], given[2]);
            },
            /*full_batch=*/options.memory_capacity) {}

  UpdateReport update() override {
    UpdateReport report = MemoryMethod::update();
    // The teacher follows even a student that learned nothing this time.
    teacher().affine.lerp_(student_.affine, 1 - options_.teacher_momentum);
    return report;
  }

  void exchange(StateArchive& archive) override {
    archive("teacher_affine", teacher().affine);
    archive("teacher_running_mean", teacher().running_mean);
    archive("teacher_running_var", teacher().running_var);
    archive.survives_trial([&] {
      archive("student_affine", student_.affine);
      archive("student_running_mean", student_.running_mean);
      archive("student_running_var", student_.running_var);
      archive("adam", *optimiser_, student_.affine);
      archive("augment.rng", augment_rng_);
    });
    memory_.exchange(archive, device());
  }

  ModelState trained_state() const override { return student_; }
  double statistics_share() const override { return options_.batch_share; }

 private:
  // What is drawn and counted on the host stays outside of what recurs.
  UpdateReport learn(const at::Tensor& kept) override {
    const at::Tensor images = as_floats(kept);
    const at::Tensor view = augment(images, augment_rng_);
    executor().begin_step(*optimiser_, student_.affine);
    const Step step = step_({images, view, ages()});
    UpdateReport report;
    report.applied = true;
    report.loss = step.loss;
    report.gradient_norm = step.gradient_norm;
    report.parameter_change = step.parameter_change;
    report.loss_after = step.loss_after;
    return report;
  }

  // The numbers of a step; loss_after undefined unless it is asked for.
  struct Step {
    at::Tensor loss, gradient_norm, parameter_change, loss_after;

    std::vector<at::Tensor*> tensors() {
      return {&loss, &gradient_norm, &parameter_change, &loss_after};
    }
  };

  // The student learns to see in an augmented view of the memory what the
  // teacher sees in the memory.
  Step teach_student(const at::Tensor& images, const at::Tensor& view,
                     const at::Tensor& ages) {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor target = ask_teacher(images);
    const at::Tensor weights = timeliness(ages);

    const ModelState before = student_.clone_norm();
    ModelState state = before;
    state.affine = as_leaf(before.affine);
    const StudentPass pass = run_student(view, target, weights, state);
    const at::Tensor gradient = executor().gradient(pass.loss, state.affine);
    optimiser_->take_step(student_.affine, gradient);
    take_statistics(student_, pass.result);

    Step step;
    step.loss = pass.loss.detach();
    step.gradient_norm = gradient.norm();
    step.parameter_change = student_.affine.sub(before.affine).norm();
    if (!measures_loss_after()) return step;
    const at::NoGradGuard no_gradients;
    state.affine = student_.affine;  // with the statistics of before
    step.loss_after = run_student(view, target, weights, state).loss;
    return step;
  }

  ModelState& teacher() { return state_; }

  at::Tensor ask_teacher(const at::Tensor& images) {
    const at::NoGradGuard no_gradients;
    const auto result = executor().forward(images, teacher(), statistics());
    take_statistics(teacher(), result);
    return result.logits;
  }

  struct StudentPass {
    at::Tensor loss;
    ForwardResult result;
  };
  StudentPass run_student(const at::Tensor& view, const at::Tensor& target,
                          const at::Tensor& weights,
                          const ModelState& state) const {
    auto result = executor().forward(view, state, statistics());
    const at::Tensor losses = distillation_loss(result.logits, target);
    return {(weights * losses).mean(), std::move(result)};
  }

  // exp(-a) / (1 + exp(-a)) with a = age / capacity: 1/2 for a new sample, less
  // for older ones.
  at::Tensor timeliness(const at::Tensor& ages) const {
    return (-ages / static_cast<double>(options_.memory_capacity)).sigmoid();
  }

  at::Tensor ages() const {
    std::vector<float> ages;
    for (const auto& item : memory_.items())
      ages.push_back(static_cast<float>(item.age));
    return executor().to_device(at::tensor(ages));
  }

  // Both networks normalise with a mixture of running and batch statistics,
  // which then is their running statistics.
  NormStats statistics() const {
    return NormStats::blended(options_.batch_share);
  }
  static void take_statistics(ModelState& state, const ForwardResult& result) {
    state.running_mean.copy_(result.batch_mean);
    state.running_var.copy_(result.batch_var);
  }

  RottaOptions options_;
  ModelState student_;
  std::unique_ptr<Optimiser> optimiser_;
  Rng augment_rng_;
  RecurringWork<Step> step_;  // teach_student()
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
