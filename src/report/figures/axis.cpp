#include "report/figures/axis.h"

#include <algorithm>
#include <cmath>

#include "report/tables/number_text.h"

namespace sotta {
namespace {

// 1, 2 or 5 times a power of ten: the next such number above.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::string with_thousands(std::string text) {
  const size_t point = std::min(text.find('.'), text.size());
  const size_t first = text.find_first_of("0123456789");
  for (size_t at = point; at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace

Axis Axis::exact(double low, double high) {
  Axis axis;
  axis.low_ = low;
  axis.high_ = high;
  if (!(low < high)) {
    const double room = low == 0 ? 1 : std::abs(low) * 0.1;
    axis.low_ = low - room;
    axis.high_ = low + room;
  }
  return axis;
}

Axis Axis::linear(double low, double high) {
  Axis axis = exact(low, high);
  const double step = round_step((axis.high_ - axis.low_) / 5);
  axis.low_ = std::floor(axis.low_ / step + 1e-9) * step;
  axis.high_ = std::ceil(axis.high_ / step - 1e-9) * step;
  return axis;
}

Axis Axis::logarithmic(double low, double high) {
  Axis axis = exact(low, high);
  axis.logarithmic_ = axis.low_ > 0;
  return axis;
}

double Axis::place(double value, double from, double to) const {
  const auto scaled = [&](double x) { return logarithmic_ ? std::log(x) : x; };
  const double part =
      (scaled(value) - scaled(low_)) / (scaled(high_) - scaled(low_));
  return from + part * (to - from);
}

std::vector<double> Axis::ticks(int count) const {
  std::vector<double> ticks;
  if (logarithmic_) {
    for (double power = std::pow(10.0, std::floor(std::log10(low_)));
         power <= high_; power *= 10)
      for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= low_ * (1 - 1e-9) &&
            factor * power <= high_ * (1 + 1e-9))
          ticks.push_back(factor * power);
    return ticks;
  }
  const double step = round_step((high_ - low_) / std::max(count, 1));
  const auto first = static_cast<int64_t>(std::ceil(low_ / step - 1e-9));
  const auto last = static_cast<int64_t>(std::floor(high_ / step + 1e-9));
  for (int64_t i = first; i <= last; ++i)
    ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::vector<std::string> Axis::labels(const std::vector<double>& ticks) {
  int digits = 0;
  for (; digits < 6; ++digits) {
    const double scale = std::pow(10.0, digits);
    if (std::all_of(ticks.begin(), ticks.end(), [&](double tick) {
          return std::abs(std::round(tick * scale) / scale - tick) <
                 1e-9 + std::abs(tick) * 1e-6;
        }))
      break;
  }
  std::vector<std::string> labels;
  for (const double tick : ticks)
    labels.push_back(with_thousands(fixed(tick, digits)));
  return labels;
}

}  // namespace sotta
