#include "eval/stream_tally.h"

#include <algorithm>

#include <ATen/ops/stack.h>

namespace sotta {
namespace {

constexpr int64_t kConfidenceBins = 20;

// Scalars of the windows that have one, NaN for the others; one transfer.
std::vector<double> read_scalars(const std::vector<at::Tensor>& scalars) {
  std::vector<double> numbers(scalars.size(), RunRecord::kNone);
  std::vector<at::Tensor> defined;
  for (const auto& scalar : scalars)
    if (scalar.defined()) defined.push_back(scalar);
  if (defined.empty()) return numbers;

  const at::Tensor packed = at::stack(defined).to(at::kDouble).cpu();
  const double* next = packed.data_ptr<double>();
  for (size_t i = 0; i < scalars.size(); ++i)
    if (scalars[i].defined()) numbers[i] = *next++;
  return numbers;
}

}  // namespace

StreamTally::Kind::Kind(int64_t classes)
    : confidence(kConfidenceBins), predicted(static_cast<size_t>(classes)) {}

void StreamTally::Kind::add(int64_t label, float score) {
  confidences.push_back(score);
  confidence.add(static_cast<double>(score));
  ++predicted[static_cast<size_t>(label)];
}

StreamTally::StreamTally(int64_t classes)
    : counts_(classes), own_(classes), foreign_(classes) {}

void StreamTally::add(const StepResult& result, const StreamPlan& plan,
                      int64_t begin, const std::vector<int64_t>& held) {
  Window window;
  const auto* labels = result.prediction.labels.data_ptr<int64_t>();
  const auto* confidences = result.prediction.confidences.data_ptr<float>();
  for (size_t i = 0; i < result.verdicts.size(); ++i) {
    const SampleTruth& truth = plan[begin + static_cast<int64_t>(i)];
    add_sample(truth, labels[i], confidences[i], window);
    if (result.screening.defined())
      (truth.benign() ? own_ : foreign_)
          .less_foreign.push_back(-result.screening.scores[i]);
    if (result.verdicts[i] != Verdict::kAdmitted) continue;
    ++(truth.benign() ? window.admitted : window.admitted_foreign);
  }
  if (result.screening.defined()) window.gate = result.screening.gate;
  for (const int64_t place : held)
    ++(plan[place].benign() ? window.held : window.held_foreign);
  if (!result.updates.empty()) {
    window.loss = result.updates.back().loss;
    window.gradient_norm = result.updates.back().gradient_norm;
  }
  window.by_source = result.by_source;
  for (const UpdateReport& update : result.updates) {
    window.guard_trips += update.guard.empty() ? 0 : 1;
    window.updates += update.applied ? 1 : 0;
  }
  windows_.push_back(window);
}

void StreamTally::add_sample(const SampleTruth& truth, int64_t predicted,
                             float confidence, Window& window) {
  if (!truth.benign()) {
    ++window.foreign;
    foreign_.add(predicted, confidence);
    return;
  }
  const bool correct = predicted == truth.label;
  ++window.samples;
  window.correct += correct ? 1 : 0;
  counts_.add(truth.label, predicted);
  calibration_.add(static_cast<double>(confidence), correct);
  own_.add(predicted, confidence);
}

void StreamTally::fill(RunRecord& record) const {
  record.samples = counts_.samples();
  record.correct = counts_.correct();
  record.accuracy = counts_.samples() > 0 ? counts_.accuracy() : 0;
  record.macro_f1 = counts_.macro_f1();
  record.calibration_error = calibration_.error();
  record.foreign = static_cast<int64_t>(foreign_.confidences.size());
  record.auroc = area_under_roc(own_.confidences, foreign_.confidences);
  record.fpr95 = false_positives_at_95(own_.confidences, foreign_.confidences);
  record.admitted = record.admitted_foreign = 0;
  for (const Window& window : windows_) {
    record.admitted += window.admitted;
    record.admitted_foreign += window.admitted_foreign;
  }

  record.series["confidence_samples"] = own_.confidence.counts();
  record.series["predicted_samples"] = own_.predicted;
  record.series["confidence_foreign"] = foreign_.confidence.counts();
  record.series["predicted_foreign"] = foreign_.predicted;
  fill_windows(record.series);
  fill_screen(record);
}

void StreamTally::fill_screen(RunRecord& record) const {
  record.screen_auroc =
      area_under_roc(own_.less_foreign, foreign_.less_foreign);
  record.screen_fpr95 =
      false_positives_at_95(own_.less_foreign, foreign_.less_foreign);
  for (const Window& window : windows_) {
    if (!window.gate) continue;
    record.series["screen_closed"].push_back(window.gate->closed ? 1 : 0);
    record.series["screen_gap"].push_back(window.gate->gap);
    record.series["screen_information"].push_back(window.gate->information);
    record.series["screen_drift"].push_back(window.gate->drift);
  }
}

void StreamTally::fill_windows(Series& series) const {
  const auto counts = [&](const char* name, int64_t Window::*field) {
    for (const Window& window : windows_)
      series[name].push_back(static_cast<double>(window.*field));
  };
  counts("samples", &Window::samples);
  counts("foreign", &Window::foreign);
  counts("admitted", &Window::admitted);
  counts("admitted_foreign", &Window::admitted_foreign);
  const bool has_memory =
      std::any_of(windows_.begin(), windows_.end(), [](const Window& window) {
        return window.held + window.held_foreign > 0;
      });
  if (has_memory) {
    counts("memory_samples", &Window::held);
    counts("memory_foreign", &Window::held_foreign);
  }
  const bool was_guarded =
      std::any_of(windows_.begin(), windows_.end(), [](const Window& window) {
        return window.by_source + window.guard_trips > 0;
      });
  if (was_guarded) {
    counts("by_source", &Window::by_source);
    counts("guard_trips", &Window::guard_trips);
    counts("updates", &Window::updates);
  }
  for (const Window& window : windows_)
    series["accuracy"].push_back(
        window.samples > 0 ? 100.0 * static_cast<double>(window.correct) /
                                 static_cast<double>(window.samples)
                           : RunRecord::kNone);

  const auto scalars = [&](const char* name, at::Tensor Window::*field) {
    std::vector<at::Tensor> tensors;
    for (const Window& window : windows_)
      tensors.push_back(window.*field);
    series[name] = read_scalars(tensors);
  };
  scalars("loss", &Window::loss);
  scalars("gradient_norm", &Window::gradient_norm);
}

}  // namespace sotta
