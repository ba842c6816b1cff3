#include "adapt/adapter_guard.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <ATen/ops/stack.h>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "core/checks.h"

namespace sotta {
namespace {

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
}

// A flag that has no effect is refused.
void check_effect(const GuardOptions& options) {
  if (options.action == "off") return;
  const std::vector<std::string> of_floor = {"guard_look_every",
                                             "guard_margin"};
  const bool is_floor = options.action == "floor";
  const OptionMap usual = to_option_map(GuardOptions());
  for (const auto& [name, value] : to_option_map(options)) {
    if (name == "guard" || name == "guard_history" || value == usual.at(name))
      continue;
    const bool for_floor =
        std::find(of_floor.begin(), of_floor.end(), name) != of_floor.end();
    if (for_floor != is_floor)
      fail(ErrorKind::kInvalid, name,
           "has no effect with guard = " + options.action);
  }
}

}  // namespace

void validate(const GuardOptions& options) {
  require_one_of("guard", options.action,
                 {"off", "skip", "rollback", "reset", "floor"});
  require_not_negative("guard_max_parameter_change",
                       options.max_parameter_change);
  require_within("guard_max_class_share", options.max_class_share, 0, 1);
  require_within("guard_min_admitted_share", options.min_admitted_share, 0, 1);
  require_within("guard_max_admitted_share", options.max_admitted_share, 0, 1);
  require_at_least("guard_history", options.history, 1);
  require_at_least("guard_look_every", options.look_every, 1);
  require_positive("guard_margin", options.margin);
  check_effect(options);
}

Adapter::Guard::Guard(GuardOptions options, const MethodContext& context)
    : options_(std::move(options)),
      classes_(static_cast<size_t>(context.model->classes())) {
  if (options_.action == "floor") floor_.emplace(context, options_);
  forget();
}

void Adapter::Guard::observe(const at::Tensor& images, Observation& part) {
  const auto labels = part.prediction.labels.contiguous();
  const auto* label = labels.data_ptr<int64_t>();
  for (int64_t i = 0; i < labels.numel(); ++i)
    ++history_.current[static_cast<size_t>(label[i])];
  if (floor_) floor_->watch(images, part);
}

Adapter::Guard::Finding Adapter::Guard::judge(const UpdateReport& report) {
  GuardHistory::Window window;
  window.class_counts =
      std::exchange(history_.current, std::vector<int64_t>(classes_));
  for (const Verdict verdict : report.verdicts) {
    if (verdict == Verdict::kNotScreened || verdict == Verdict::kPending)
      continue;
    ++window.screened;
    if (verdict == Verdict::kAdmitted) ++window.admitted;
  }
  history_.windows.push_back(std::move(window));
  keep_only_the_last_windows();
  ++history_.since_good;

  Finding finding{trouble_in_numbers(report), options_.action, false};
  if (floor_) {
    const Floor::Ruling ruling = floor_->rule(due_for_snapshot());
    finding.action = ruling.to_good ? "rollback" : "reset";
    if (finding.trouble.empty()) finding.trouble = ruling.trouble;
    finding.is_good = ruling.is_good;
    return finding;
  }
  if (finding.trouble.empty()) finding.trouble = trouble_in_history();
  finding.is_good = due_for_snapshot();
  return finding;
}

void Adapter::Guard::keep_only_the_last_windows() {
  while (static_cast<int64_t>(history_.windows.size()) > options_.history)
    history_.windows.pop_front();
}

std::string Adapter::Guard::trouble_in_numbers(
    const UpdateReport& report) const {
  if (!report.applied) return "";
  std::vector<std::string> names;
  std::vector<at::Tensor> scalars;
  const auto add = [&](const char* name, const at::Tensor& scalar) {
    if (!scalar.defined()) return;
    names.emplace_back(name);
    scalars.push_back(scalar.to(at::kDouble));
  };
  add("loss", report.loss);
  add("loss at the sharpest point", report.perturbed_loss);
  add("gradient", report.gradient_norm);
  add("parameter change", report.parameter_change);
  if (scalars.empty()) return "";

  const at::Tensor numbers = at::stack(scalars).cpu();  // one wait for all
  const auto* value = numbers.data_ptr<double>();
  for (size_t i = 0; i < names.size(); ++i)
    if (!std::isfinite(value[i])) return names[i] + " is not finite";
  if (!report.parameter_change.defined()) return "";
  const double change = value[names.size() - 1];  // it came last
  const double limit = floor_ ? 0 : options_.max_parameter_change;
  if (limit > 0 && change > limit)
    return "parameter change " + to_text(change) + " is above " +
           to_text(limit);
  return "";
}

std::string Adapter::Guard::trouble_in_history() const {
  if (static_cast<int64_t>(history_.windows.size()) < options_.history)
    return "";
  GuardHistory::Window sum;
  sum.class_counts.resize(classes_);
  for (const auto& window : history_.windows) {
    sum.screened += window.screened;
    sum.admitted += window.admitted;
    for (size_t c = 0; c < sum.class_counts.size(); ++c)
      sum.class_counts[c] += window.class_counts[c];
  }
  const auto largest =
      std::max_element(sum.class_counts.begin(), sum.class_counts.end());
  const auto samples = std::accumulate(sum.class_counts.begin(),
                                       sum.class_counts.end(), int64_t{0});
  const double class_share =
      static_cast<double>(*largest) / static_cast<double>(samples);
  if (class_share > options_.max_class_share)
    return percent(class_share) + " of the predictions are class " +
           std::to_string(largest - sum.class_counts.begin());
  if (sum.screened == 0) return "";
  const double admitted =
      static_cast<double>(sum.admitted) / static_cast<double>(sum.screened);
  if (admitted < options_.min_admitted_share)
    return "only " + percent(admitted) + " of the samples are admitted";
  if (admitted > options_.max_admitted_share)
    return percent(admitted) + " of the samples are admitted";
  return "";
}

void Adapter::Guard::set_good(Snapshot snapshot) {
  history_.good = std::move(snapshot);
  history_.since_good = 0;
}

void Adapter::Guard::forget() {
  history_.windows.clear();
  history_.current.assign(classes_, 0);
  history_.since_good = 0;
  if (floor_) floor_->forget();
}

void Adapter::Guard::start_over() {
  forget();
  if (floor_) floor_->put_back();
}

GuardHistory Adapter::Guard::history() const {
  GuardHistory history = history_;
  if (floor_) history.floor = floor_->state();
  return history;
}

void Adapter::Guard::set_history(GuardHistory history) {
  if (floor_) floor_->set_state(history.floor.value_or(FloorState()));
  history_ = std::move(history);
  history_.floor.reset();
  keep_only_the_last_windows();  // another's may be longer
}

}  // namespace sotta
