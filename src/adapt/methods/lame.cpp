#include "adapt/methods/lame.h"

#include <algorithm>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"

#include "adapt/answer.h"
#include "core/checks.h"
#include "engine/late_flag.h"
#include "engine/recurring_work.h"
#include "nn/exact_product.h"

namespace sotta {
namespace {

// How often to ask whether the assignment has settled.
constexpr int64_t kIterationsPerCheck = 8;

// Keeps logarithms of assignments finite.
constexpr double kSmallest = 1e-20;

class Lame : public Method {
 public:
  Lame(const MethodContext& context, const LameOptions& options)
      : options_(options),
        executor_(executor_of(context)),
        answer_(*executor_, [this](const at::Tensor& images) {
          return Answer(predict(images));
        }) {}

  at::Tensor predict(const at::Tensor& images) const override {
    const at::NoGradGuard no_gradients;
    const auto output =
        executor_->forward(images, state(), NormStats::running());
    return lame_logits(output.logits, output.features, options_);
  }

  Observation observe(const at::Tensor& images, bool) override {
    const Answer answer = answer_(images);
    return observed(answer.logits, read_prediction(answer.packed),
                    Verdict::kNotScreened);
  }

  UpdateReport update() override {
    UpdateReport report;
    report.skipped = "the method does not adapt";
    return report;
  }

  void exchange(StateArchive&) override {}  // nothing changes
  ModelState state() const override { return executor_->model().source(); }

 private:
  LameOptions options_;
  std::shared_ptr<const Executor> executor_;
  RecurringWork<Answer> answer_;
};

}  // namespace

at::Tensor lame_logits(const at::Tensor& logits, const at::Tensor& features,
                       const LameOptions& options) {
  return laplacian_assignment(logits, neighbour_matrix(features, options),
                              options)
      .clamp_min(kSmallest)
      .log();
}

at::Tensor neighbour_matrix(const at::Tensor& features,
                            const LameOptions& options) {
  if (!features.defined())
    fail(ErrorKind::kUnsupported, "lame",
         "compares inputs of the last linear layer, and this network does not "
         "end in one");
  const int64_t count = std::min(options.neighbours, features.size(0) - 1);
  at::Tensor compared = features;
  if (options.normalise_features)
    compared = features / features.norm(2, 1, true).clamp_min(1e-12);
  // Differences, not the faster matrix product: that one cancels between
  // features that are close, and would choose other neighbours.
  at::Tensor distances = at::cdist(compared, compared, 2, /*compute_mode=*/2);
  distances.fill_diagonal_(std::numeric_limits<float>::infinity());
  const auto nearest =
      std::get<1>(distances.topk(count, /*dim=*/1, /*largest=*/false));
  return at::zeros_like(distances).scatter_(1, nearest, 1);
}

at::Tensor laplacian_assignment(const at::Tensor& logits,
                                const at::Tensor& neighbours,
                                const LameOptions& options) {
  const at::Tensor unary = -(logits.softmax(1) + 1e-10).log();
  at::Tensor assignment = (-unary).softmax(1);
  at::Tensor settled = at::zeros({}, logits.options().dtype(at::kBool));
  LateFlag settled_here(options.max_iterations);
  at::Tensor old_energy;
  for (int64_t i = 0; i < options.max_iterations; ++i) {
    const at::Tensor pairwise =
        options.affinity_weight * exact_product(neighbours, assignment);
    const at::Tensor next = (pairwise - unary).softmax(1);
    const at::Tensor energy =
        (next * (unary - pairwise + next.clamp_min(kSmallest).log())).sum();
    assignment = at::where(settled, assignment, next);
    if (i > 1)
      settled = settled.logical_or((energy - old_energy).abs() <=
                                   options.tolerance * old_energy.abs());
    old_energy = energy;
    // A settled assignment is held, so that to know it late changes nothing.
    if (i % kIterationsPerCheck == kIterationsPerCheck - 1 &&
        settled_here.seen_set(settled))
      break;
  }
  return assignment;
}

LameOptions LameOptions::preset(Preset preset, int64_t) {
  LameOptions options;
  options.normalise_features = preset == Preset::kClean;
  return options;
}

void validate(const LameOptions& options) {
  require_within("neighbours", options.neighbours, 1, 1 << 20);
  require_not_negative("affinity_weight", options.affinity_weight);
  require_within("max_iterations", options.max_iterations, 1, 1 << 20);
  require_not_negative("tolerance", options.tolerance);
}

std::unique_ptr<Method> make_lame(const MethodContext& context,
                                  const LameOptions& options) {
  validate(options);
  return std::make_unique<Lame>(context, options);
}

}  // namespace sotta
