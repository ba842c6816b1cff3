#include "adapt/methods/sotta.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include "sotta/core/error.h"
#include "sotta/core/options.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"

#include "adapt/memory_method.h"
#include "adapt/methods/confidence_threshold.h"
#include "adapt/methods/frozen.h"
#include "adapt/screen/look_screen.h"
#include "adapt/stored_count.h"
#include "core/checks.h"
#include "nn/sharpness.h"

namespace sotta {
namespace {

const std::vector<std::string> kMemories = {
    "hus", "hus_cleared", "confident_fifo", "uniform_class", "fifo"};

std::unique_ptr<SampleMemory> make_memory(const MethodContext& context,
                                          const SottaOptions& options) {
  const int64_t capacity = options.memory_capacity;
  const int64_t classes = context.model->classes();
  if (options.memory == "fifo") return make_fifo_memory(capacity, 0);
  if (options.memory == "uniform_class")
    return make_hus_memory(capacity, classes, 0);

  const double min_confidence = options.min_confidence < 0
                                    ? automatic_threshold(context)
                                    : options.min_confidence;
  return options.memory == "confident_fifo"
             ? make_fifo_memory(capacity, min_confidence)
             : make_hus_memory(capacity, classes, min_confidence);
}

UpdateReport skipped(const char* why) {
  UpdateReport report;
  report.skipped = why;
  return report;
}

class Sotta : public MemoryMethod {
 public:
  Sotta(const MethodContext& context, const ScreenedSottaOptions& options)
      : MemoryMethod(context, make_memory(context, options),
                     options.memory_capacity),
        options_(options),
        mask_(trainable_mask(model(), options.frozen)),
        optimiser_(
            make_adam({options.learning_rate, options.weight_decay}, mask_)),
        step_(
            executor(),
            [this](const at::Tensor& images) {
              return minimise_sharpness(images);
            },
            /*full_batch=*/options.memory_capacity),
        window_(context.update_interval),
        warming_(options.warm_start &&
                 count_batch_norms(model().norm_layers()) > 0),
        handed_over_(warming_ ? 0 : options.warm_updates),
        momentum_(at::full({}, options.stats_momentum,
                           state_.running_mean.options())) {
    if (options.screen)
      screen_ = std::make_unique<LookScreen>(
          shared_executor(),
          LookScreenOptions{options.screen_gap, options.screen_familiarity,
                            options.screen_drift});
  }

  at::Tensor predict(const at::Tensor& images) const override {
    if (!uses_own()) return MemoryMethod::predict(images);
    return predict_averaged(images, screen_ ? screen_->is_foreign(images)
                                            : none_foreign(images))
        .answer.logits;
  }

  Observation observe(const at::Tensor& images, bool completes) override {
    if (!screen_ && !averages())
      return MemoryMethod::observe(images, completes);
    std::optional<LookScreen> screen;
    Screening screening;
    std::vector<bool> keep;
    if (screen_) {
      screen = *screen_;
      screening = screen->judge(images);
      if (screen->changed()) keep = known_in_memory(*screen);
    }
    const std::vector<bool> foreign =
        screen ? are_foreign(screening.scores) : none_foreign(images);
    Averaged seen = uses_own() ? predict_averaged(images, foreign)
                               : Averaged(answer(images));
    if (averages() && !uses_own()) measure_averages(images, foreign, seen);
    // Nothing has changed before: memory may run out in any of these passes.
    std::vector<Verdict> verdicts =
        memory_.offer(images, seen.prediction, foreign, keep);
    if (screen) *screen_ = std::move(*screen);
    unlearnt_ += std::count(foreign.begin(), foreign.end(), false);
    take_averages(seen);
    return {seen.answer.logits, seen.prediction, std::move(verdicts),
            std::move(screening)};
  }

  UpdateReport update() override {
    const auto kept = static_cast<int64_t>(memory_.items().size());
    if (warming_ && kept < options_.memory_capacity)
      return skipped("the memory is filling");
    warming_ = 0;
    if (screen_ && options_.screen_pace) {
      if (unlearnt_ < window_)
        return skipped("less than a window of images that are not foreign");
      unlearnt_ %= window_;
    }
    if (!memory_.empty())
      handed_over_ = std::min(handed_over_ + 1, options_.warm_updates);
    momentum_.fill_(options_.stats_momentum * memory_share());
    return MemoryMethod::update();
  }

  void exchange(StateArchive& archive) override {
    if (options_.warm_start) exchange_averages(archive);
    if (screen_) {
      archive("screen.unlearnt", unlearnt_, 0);
      check_stored_count(archive, "screen.unlearnt");
      screen_->exchange(archive);
    }
    archive("affine", state_.affine);
    archive("running_mean", state_.running_mean);
    archive("running_var", state_.running_var);
    archive.survives_trial(
        [&] { archive("adam", *optimiser_, state_.affine); });
    memory_.exchange(archive, device());
  }

  // At first a sample's logits depend on the rest of the call.
  NormStats prediction_stats() const override {
    return uses_own() ? NormStats::blended(share_of(options_.memory_capacity))
                      : NormStats::running();
  }

  // Of the next window, which the averages take first.
  double statistics_share() const override {
    const double rest = 1 - options_.stats_momentum * memory_share(1);
    return 1 - (1 - share_of(window_)) * std::pow(rest, options_.stats_updates);
  }

 private:
  UpdateReport learn(const at::Tensor& images) override {
    executor().begin_step(*optimiser_, state_.affine);
    const Step step = step_(images);
    UpdateReport report;
    report.applied = true;
    report.loss = step.loss;
    report.gradient_norm = step.gradient_norm;
    report.perturbed_loss = step.perturbed_loss;
    report.perturbation_norm = step.perturbation_norm;
    report.parameter_change = step.parameter_change;
    const at::NoGradGuard no_gradients;
    if (measures_loss_after())
      report.loss_after =
          loss_of(executor().forward(images, state_, NormStats::batch()));
    if (options_.memory == "hus_cleared") memory_.clear();
    return report;
  }

  // The numbers of a step; those of the sharpness step undefined without one.
  struct Step {
    at::Tensor loss, gradient_norm;
    at::Tensor perturbed_loss, perturbation_norm;
    at::Tensor parameter_change;

    std::vector<at::Tensor*> tensors() {
      return {&loss, &gradient_norm, &perturbed_loss, &perturbation_norm,
              &parameter_change};
    }
  };

  // Entropy-sharpness minimisation: the gradient at the sharpest point nearby,
  // the step from where the parameters are.
  Step minimise_sharpness(const at::Tensor& images) {
    Step step;
    const at::Tensor before = state_.affine.clone();
    EntropyPass pass = run(images, before);
    step.loss = pass.loss;
    step.gradient_norm = pass.gradient.norm();
    blend_statistics(pass.result);

    if (options_.sharpness) {
      const at::Tensor sharpest =
          sharpest_point(before, pass.gradient, options_.sharpness_radius);
      pass = run(images, sharpest);
      step.perturbed_loss = pass.loss;
      step.perturbation_norm = sharpest.sub(before).norm();
    }
    if (options_.stats_updates == 2) blend_statistics(pass.result);

    optimiser_->take_step(state_.affine, pass.gradient);
    step.parameter_change = state_.affine.sub(before).norm();
    return step;
  }

  struct EntropyPass {
    at::Tensor loss;
    at::Tensor gradient;  // of the trained parameters, 0 elsewhere
    ForwardResult result;
  };

  // The memory's mean entropy and its gradient at `affine`, under the memory's
  // own statistics.
  EntropyPass run(const at::Tensor& images, const at::Tensor& affine) const {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor leaf = as_leaf(affine);
    ModelState state = state_;
    state.affine = leaf;
    ForwardResult result =
        executor().forward(images, state, NormStats::batch());
    const at::Tensor loss = loss_of(result);
    at::Tensor gradient = executor().gradient(loss, leaf);
    if (mask_.defined()) gradient.mul_(mask_);
    return {loss.detach(), gradient, std::move(result)};
  }

  at::Tensor loss_of(const ForwardResult& result) const {
    const at::Tensor loss = mean_entropy(result.logits);
    return options_.entropy_per_class ? loss.div(model().classes()) : loss;
  }

  // The momentum is a tensor where it changes: steps may be recorded.
  void blend_statistics(const ForwardResult& result) {
    const auto blend = [&](at::Tensor& into, const at::Tensor& batch) {
      options_.warm_start ? into.lerp_(batch, momentum_)
                          : into.lerp_(batch, options_.stats_momentum);
    };
    blend(state_.running_mean, result.batch_mean);
    blend(state_.running_var, result.batch_var);
  }

  // The memory's share in the statistics so many updates from now: none until
  // it is full, then more with every update. The rest are the averages'.
  double memory_share(int64_t later = 0) const {
    if (warming_ && later == 0) return 0;
    if (options_.warm_updates == 0) return 1;
    const int64_t updates =
        std::min(handed_over_ + later, options_.warm_updates);
    return static_cast<double>(updates) /
           static_cast<double>(options_.warm_updates);
  }
  bool averages() const { return memory_share() < 1; }
  bool uses_own() const {
    return averages() && (options_.warm_own < 0 || seen_ < options_.warm_own);
  }

  // Of images that are not foreign: with averages over the prior and all that
  // came, these images included.
  ForwardResult average(const at::Tensor& images) const {
    return executor().forward(images, state_,
                              NormStats::blended(share_of(images.size(0))));
  }
  double share_of(int64_t images) const {
    const auto count = static_cast<double>(images);
    return (1 - memory_share()) * count /
           (options_.warm_prior + static_cast<double>(seen_) + count);
  }

  // Foreign images have no part in the averages.
  struct Averaged {
    explicit Averaged(const Answer& given)
        : answer(given), prediction(read_prediction(given.packed)) {}

    Answer answer;
    Prediction prediction;
    ForwardResult averages;  // of our images, if there are any
    int64_t ours = 0;
  };

  static std::vector<int64_t> places_of_ours(const std::vector<bool>& foreign) {
    std::vector<int64_t> ours;
    for (size_t i = 0; i < foreign.size(); ++i)
      if (!foreign[i]) ours.push_back(static_cast<int64_t>(i));
    return ours;
  }

  // What was predicted without the images' own statistics gets them here, of
  // those of ours that give numbers.
  void measure_averages(const at::Tensor& images, std::vector<bool> foreign,
                        Averaged& seen) const {
    const at::NoGradGuard no_gradients;
    for (size_t i = 0; i < foreign.size(); ++i)
      if (!is_finite(seen.prediction, static_cast<int64_t>(i)))
        foreign[i] = true;
    const std::vector<int64_t> ours = places_of_ours(foreign);
    if (ours.empty()) return;
    const at::Tensor at_ours = executor().to_device(at::tensor(ours));
    seen.averages = average(images.index_select(0, at_ours));
    seen.ours = static_cast<int64_t>(ours.size());
  }

  // One image that gives no numbers spoils the statistics of all: then each is
  // looked at by itself, and none enters the averages.
  Averaged predict_averaged(const at::Tensor& images,
                            const std::vector<bool>& foreign) const {
    const at::NoGradGuard no_gradients;
    Averaged seen = average_ours(images, foreign);
    for (size_t i = 0; i < foreign.size(); ++i)
      if (!foreign[i] && !is_finite(seen.prediction, static_cast<int64_t>(i)))
        return Averaged(Answer(MemoryMethod::predict(images)));
    return seen;
  }

  Averaged average_ours(const at::Tensor& images,
                        const std::vector<bool>& foreign) const {
    const std::vector<int64_t> ours = places_of_ours(foreign);
    if (ours.empty()) return Averaged(Answer(MemoryMethod::predict(images)));
    const at::Tensor at_ours = executor().to_device(at::tensor(ours));
    const bool all = ours.size() == foreign.size();
    ForwardResult averages =
        average(all ? images : images.index_select(0, at_ours));
    const at::Tensor logits = all ? averages.logits
                                  : MemoryMethod::predict(images).index_copy(
                                        0, at_ours, averages.logits);
    Averaged seen{Answer(logits)};
    seen.averages = std::move(averages);
    seen.ours = static_cast<int64_t>(ours.size());
    return seen;
  }

  // Not those with a number that is not finite: it would stay for ever.
  void take_averages(const Averaged& seen) {
    if (seen.ours == 0) return;
    const at::Tensor& mean = seen.averages.batch_mean;
    const at::Tensor& var = seen.averages.batch_var;
    const at::Tensor sound = at::isfinite(mean).all() & at::isfinite(var).all();
    state_.running_mean.copy_(at::where(sound, mean, state_.running_mean));
    state_.running_var.copy_(at::where(sound, var, state_.running_var));
    seen_ = std::min(seen_ + seen.ours, kSeen);
  }

  std::vector<bool> none_foreign(const at::Tensor& images) const {
    return std::vector<bool>(static_cast<size_t>(images.size(0)), false);
  }

  void exchange_averages(StateArchive& archive) {
    archive("warming", warming_);
    archive("warming.seen", seen_);
    // Earlier versions handed over at once.
    const at::Tensor warming = archive.stored("warming");
    archive("warming.handed_over", handed_over_,
            warming.defined() && warming.item<int64_t>() != 0
                ? 0
                : options_.warm_updates);
    check_stored_count(archive, "warming", 1);
    check_stored_count(archive, "warming.seen", kSeen);
    check_stored_count(archive, "warming.handed_over", options_.warm_updates);
  }

  // Of the memory's samples those that a screen finds nothing foreign in; empty
  // where all may stay.
  std::vector<bool> known_in_memory(const LookScreen& screen) {
    if (!screen.active() || memory_.empty()) return {};
    std::vector<bool> keep = screen.is_foreign(memory_.images());
    keep.flip();
    return keep;
  }

  static constexpr int64_t kSeen = 256;  // that averages go back at most

  ScreenedSottaOptions options_;
  at::Tensor mask_;
  std::unique_ptr<Optimiser> optimiser_;
  RecurringWork<Step> step_;  // minimise_sharpness()
  std::unique_ptr<LookScreen> screen_;
  int64_t window_;
  int64_t unlearnt_ = 0;  // samples that are not foreign since the last update
  int64_t warming_;       // 1 until the memory is full for the first time
  int64_t seen_ = 0;      // samples in the averages meanwhile
  int64_t handed_over_;   // updates since, at most options_.warm_updates
  at::Tensor momentum_;   // of the memory's statistics
};

}  // namespace

SottaOptions SottaOptions::preset(Preset preset, int64_t classes) {
  SottaOptions options;
  options.min_confidence = threshold_for_classes(classes);
  options.weight_decay = weight_decay_of(preset, classes);
  options.entropy_per_class = preset == Preset::kPaper;
  return options;
}

ScreenedSottaOptions ScreenedSottaOptions::preset(Preset preset,
                                                  int64_t classes) {
  ScreenedSottaOptions options;
  static_cast<SottaOptions&>(options) = SottaOptions::preset(preset, classes);
  return options;
}

void validate(const SottaOptions& options) {
  if (options.min_confidence != SottaOptions::kAutoConfidence)
    require_within("min_confidence", options.min_confidence, 0, 1);
  require_one_of("memory", options.memory, kMemories);
  require_within("memory_capacity", options.memory_capacity, 1, 1 << 20);
  require_positive("sharpness_radius", options.sharpness_radius);
  require_within("stats_momentum", options.stats_momentum, 0, 1);
  require_within("stats_updates", options.stats_updates, 1, 2);
  require_positive("learning_rate", options.learning_rate);
  require_not_negative("weight_decay", options.weight_decay);
}

void validate(const ScreenedSottaOptions& options) {
  validate(static_cast<const SottaOptions&>(options));
  require_positive("screen_gap", options.screen_gap);
  require_within("screen_familiarity", options.screen_familiarity, 0, 1);
  require_positive("screen_drift", options.screen_drift);
  require_within("warm_own", options.warm_own, -1, 256);
  require_not_negative("warm_prior", options.warm_prior);
  require_within("warm_updates", options.warm_updates, 0, 1 << 20);
}

std::unique_ptr<Method> make_sotta(const MethodContext& context,
                                   const SottaOptions& options) {
  validate(options);
  ScreenedSottaOptions plain;
  static_cast<SottaOptions&>(plain) = options;
  plain.screen = plain.warm_start = false;
  return std::make_unique<Sotta>(context, plain);
}

std::unique_ptr<Method> make_screened_sotta(
    const MethodContext& context, const ScreenedSottaOptions& options) {
  validate(options);
  return std::make_unique<Sotta>(context, options);
}

}  // namespace sotta
