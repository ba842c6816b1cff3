#include "serve/streams/live_figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sotta {
namespace {

// Entropy of softmax(logits) divided by that of equal shares; 0 where it is no
// number.
double relative_entropy(const float* logits, int64_t classes) {
  if (classes < 2) return 0;
  const double top = *std::max_element(logits, logits + classes);
  double sum = 0, weighted = 0;
  for (int64_t i = 0; i < classes; ++i) {
    const double shifted = logits[i] - top;
    const double weight = std::exp(shifted);
    sum += weight;
    if (weight > 0) weighted += weight * shifted;
  }
  const double entropy = std::log(sum) - weighted / sum;
  return std::isfinite(entropy)
             ? entropy / std::log(static_cast<double>(classes))
             : 0;
}

void count(const std::vector<int64_t>& labels, size_t first,
           std::vector<float>& weights) {
  for (size_t i = first; i < labels.size(); ++i) {
    const auto label = static_cast<size_t>(labels[i]);
    if (label < weights.size()) weights[label] += 1;
  }
}

void fade(std::vector<float>& weights) {
  for (float& weight : weights)
    weight *= LiveFigures::kFading;
}

template <class Value>
double mean_of(std::deque<WindowFigures>::const_iterator begin,
               std::deque<WindowFigures>::const_iterator end,
               const Value& value) {
  double sum = 0, images = 0;
  for (; begin != end; ++begin) {
    sum += value(*begin) * begin->images;
    images += begin->images;
  }
  return images > 0 ? sum / images : 0;
}

}  // namespace

double WindowFigures::admitted_share() const {
  int64_t all = 0;
  for (const int32_t each : verdicts)
    all += each;
  return all > 0 ? static_cast<double>(
                       verdicts[static_cast<size_t>(Verdict::kAdmitted)]) /
                       static_cast<double>(all)
                 : 0;
}

void LiveFigures::add(const StreamAnswer& answer, size_t first) {
  if (classes_.empty()) classes_.resize(static_cast<size_t>(answer.classes));
  for (size_t i = first; i < answer.images(); ++i) {
    const float confidence = answer.confidences[i];
    if (std::isfinite(confidence)) current_.confidence += confidence;
    current_.entropy += static_cast<float>(relative_entropy(
        answer.logits.data() + i * static_cast<size_t>(answer.classes),
        answer.classes));
  }
  count(answer.labels, first, classes_);
  current_.images += static_cast<int32_t>(answer.images() - first);
}

void LiveFigures::add_latency(double seconds) {
  current_.latency += static_cast<float>(seconds);
  ++current_.requests;
}

void LiveFigures::add(const Screening& screening) {
  if (!screening.defined()) return;
  current_.gate = screening.gate;
  for (const float score : screening.scores)
    current_.foreign += score > 0 ? 1 : 0;
}

const WindowFigures& LiveFigures::close(const WindowFigures& end,
                                        const std::vector<Verdict>& verdicts) {
  WindowFigures window = std::exchange(current_, {});
  const auto images = static_cast<float>(std::max(window.images, 1));
  window.number = summary_.windows++;
  window.confidence /= images;
  window.entropy /= images;
  window.latency /= static_cast<float>(std::max(window.requests, 1));
  for (const Verdict verdict : verdicts)
    ++window.verdicts[static_cast<size_t>(verdict)];
  window.learnt = end.learnt;
  window.guard = end.guard;
  window.update_seconds = end.update_seconds;
  window.distance = end.distance;
  windows_.push_back(window);
  if (windows_.size() > kWindows) windows_.pop_front();
  fade(classes_);
  summarise();
  return windows_.back();
}

void LiveFigures::compare(const std::vector<int64_t>& labels,
                          const std::vector<int64_t>& source_labels) {
  Comparison& all = comparison_;
  fade(all.own);
  fade(all.by_source);
  all.total *= kFading;
  all.agreed *= kFading;
  for (size_t i = 0; i < labels.size(); ++i)
    all.agreed += labels[i] == source_labels[i] ? 1.0F : 0.0F;
  all.total += static_cast<float>(labels.size());
  all.images += static_cast<int64_t>(labels.size());
  all.own.resize(classes_.size());
  all.by_source.resize(classes_.size());
  count(labels, 0, all.own);
  count(source_labels, 0, all.by_source);
}

void LiveFigures::summarise() {
  const auto admitted = [](const auto& w) { return w.admitted_share(); };
  const auto confidence = [](const auto& w) { return double{w.confidence}; };
  const auto entropy = [](const auto& w) { return double{w.entropy}; };
  const auto latency = [](const auto& w) { return double{w.latency}; };
  const size_t recent = std::min(windows_.size(), LiveSummary::kRecent);
  const auto begin = windows_.begin(), end = windows_.end();
  const auto middle = end - static_cast<std::ptrdiff_t>(recent);
  summary_.admitted_share = mean_of(middle, end, admitted);
  summary_.confidence = mean_of(middle, end, confidence);
  summary_.entropy = mean_of(middle, end, entropy);
  summary_.latency = mean_of(middle, end, latency);
  summary_.distance = windows_.back().distance;
  summary_.guard_trips =
      std::count_if(begin, end, [](const auto& w) { return w.guard; });
  const bool enough = middle - begin >= static_cast<std::ptrdiff_t>(recent);
  const auto fall = [&](const auto& value, double now) {
    return enough ? std::max(0.0, mean_of(begin, middle, value) - now) : 0.0;
  };
  summary_.admitted_fall = fall(admitted, summary_.admitted_share);
  summary_.confidence_fall = fall(confidence, summary_.confidence);
}

}  // namespace sotta
