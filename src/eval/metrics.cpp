#include "eval/metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace sotta {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : kNone;
}

// NaN goes to the first bin, which std::clamp would not see to.
size_t bin_of(double place, int64_t bins) {
  return static_cast<size_t>(
      std::fmin(std::fmax(place, 0.0), static_cast<double>(bins - 1)));
}

// Then there is no order to speak of.
bool any_nan(const std::vector<float>& scores) {
  return std::any_of(scores.begin(), scores.end(),
                     [](float score) { return std::isnan(score); });
}

}  // namespace

ConfusionCounts::ConfusionCounts(int64_t classes)
    : hits_(static_cast<size_t>(classes)),
      labels_(hits_.size()),
      predicted_(hits_.size()) {}

void ConfusionCounts::add(int64_t label, int64_t predicted) {
  ++samples_;
  ++labels_[static_cast<size_t>(label)];
  ++predicted_[static_cast<size_t>(predicted)];
  if (label != predicted) return;
  ++correct_;
  ++hits_[static_cast<size_t>(label)];
}

double ConfusionCounts::accuracy() const {
  return percent(static_cast<double>(correct_), static_cast<double>(samples_));
}

double ConfusionCounts::macro_f1() const {
  double sum = 0;
  double classes = 0;
  for (size_t c = 0; c < hits_.size(); ++c) {
    const int64_t seen = labels_[c] + predicted_[c];
    if (seen == 0) continue;
    sum += 2.0 * static_cast<double>(hits_[c]) / static_cast<double>(seen);
    ++classes;
  }
  return percent(sum, classes);
}

Calibration::Calibration() : bins_(kBins) {}

void Calibration::add(double confidence, bool correct) {
  Bin& bin = bins_[bin_of(std::ceil(confidence * kBins) - 1, kBins)];
  ++bin.samples;
  bin.correct += correct ? 1 : 0;
  bin.confidence += confidence;
}

double Calibration::error() const {
  double gap = 0;
  double samples = 0;
  for (const Bin& bin : bins_) {
    gap += std::abs(bin.confidence - static_cast<double>(bin.correct));
    samples += static_cast<double>(bin.samples);
  }
  return percent(gap, samples);
}

Histogram::Histogram(int64_t bins) : counts_(static_cast<size_t>(bins)) {}

void Histogram::add(double value) {
  const auto bins = static_cast<int64_t>(counts_.size());
  ++counts_[bin_of(std::floor(value * static_cast<double>(bins)), bins)];
}

double area_under_roc(std::vector<float> wanted, std::vector<float> others) {
  if (any_nan(wanted) || any_nan(others)) return kNone;
  std::sort(wanted.begin(), wanted.end());
  std::sort(others.begin(), others.end());
  double won = 0;  // pairs, ties half
  auto below = others.begin();
  auto not_above = others.begin();
  for (const float score : wanted) {
    while (below != others.end() && *below < score)
      ++below;
    while (not_above != others.end() && *not_above <= score)
      ++not_above;
    won += 0.5 * static_cast<double>((below - others.begin()) +
                                     (not_above - others.begin()));
  }
  return percent(won, static_cast<double>(wanted.size()) *
                          static_cast<double>(others.size()));
}

double false_positives_at_95(std::vector<float> wanted,
                             const std::vector<float>& others) {
  if (wanted.empty() || any_nan(wanted) || any_nan(others)) return kNone;
  std::sort(wanted.begin(), wanted.end(), std::greater<>());
  // The smallest count that is 95 % or more, in whole numbers.
  const size_t needed = (wanted.size() * 95 + 99) / 100;
  const float threshold = wanted[needed - 1];
  const auto passed =
      std::count_if(others.begin(), others.end(),
                    [&](float score) { return score >= threshold; });
  return percent(static_cast<double>(passed),
                 static_cast<double>(others.size()));
}

}  // namespace sotta
