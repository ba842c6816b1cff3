#include "report/figures/run_series.h"

#include <algorithm>
#include <cmath>

#include "report/tables/statistics.h"

namespace sotta {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

size_t shortest_length(const std::vector<const RunRecord*>& runs,
                       const std::string& series) {
  size_t length = runs.empty() ? 0 : runs.front()->series.at(series).size();
  for (const RunRecord* run : runs)
    length = std::min(length, run->series.at(series).size());
  return length;
}

// The numbers of all runs at one place, without those that do not exist.
Numbers at_place(const std::vector<const RunRecord*>& runs,
                 const std::string& series, size_t place) {
  Numbers values;
  for (const RunRecord* run : runs) {
    const double value = run->series.at(series)[place];
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

double sum(const Numbers& values, size_t begin, size_t end) {
  double total = 0;
  for (size_t i = begin; i < end; ++i)
    total += values[i];
  return total;
}

Numbers cumulative(const RunRecord& run) {
  const Numbers& accuracy = run.series.at("accuracy");
  const Numbers& samples = run.series.at("samples");
  Numbers values;
  double correct = 0;
  double seen = 0;
  for (size_t i = 0; i < std::min(accuracy.size(), samples.size()); ++i) {
    if (!std::isnan(accuracy[i])) {
      correct += accuracy[i] * samples[i];
      seen += samples[i];
    }
    values.push_back(seen > 0 ? correct / seen : kNaN);
  }
  return values;
}

}  // namespace

std::vector<const RunRecord*> runs_with(
    const RunRow& row, const std::string& scenario,
    const std::vector<std::string>& series) {
  std::vector<const RunRecord*> runs;
  for (const auto& [corruption, seeds] : row.in(scenario))
    for (const auto& [seed, run] : seeds) {
      const auto& all = run->series;
      const bool complete = std::all_of(
          series.begin(), series.end(), [&](const std::string& name) {
            const auto found = all.find(name);
            return found != all.end() && !found->second.empty();
          });
      if (complete) runs.push_back(run);
    }
  return runs;
}

Numbers summed(const std::vector<const RunRecord*>& runs,
               const std::string& series) {
  Numbers values;
  for (size_t i = 0; i < shortest_length(runs, series); ++i) {
    const Numbers here = at_place(runs, series, i);
    values.push_back(sum(here, 0, here.size()));
  }
  return values;
}

Numbers averaged(const std::vector<const RunRecord*>& runs,
                 const std::string& series) {
  Numbers values;
  for (size_t i = 0; i < shortest_length(runs, series); ++i)
    values.push_back(mean(at_place(runs, series, i)));
  return values;
}

Numbers cumulative_accuracy(const std::vector<const RunRecord*>& runs) {
  std::vector<Numbers> curves;
  size_t length = std::numeric_limits<size_t>::max();
  for (const RunRecord* run : runs) {
    curves.push_back(cumulative(*run));
    length = std::min(length, curves.back().size());
  }
  Numbers values;
  for (size_t i = 0; !curves.empty() && i < length; ++i) {
    Numbers here;
    for (const Numbers& curve : curves)
      if (!std::isnan(curve[i])) here.push_back(curve[i]);
    values.push_back(mean(here));
  }
  return values;
}

std::vector<CurvePoint> share_over_time(const Numbers& part,
                                        const Numbers& whole, size_t most) {
  const size_t length = std::min(part.size(), whole.size());
  const size_t width = std::max<size_t>((length + most - 1) / most, 1);
  std::vector<CurvePoint> points;
  for (size_t begin = 0; begin < length; begin += width) {
    const size_t end = std::min(begin + width, length);
    const double all = sum(whole, begin, end);
    points.push_back({static_cast<double>(begin + end + 1) / 2,
                      all > 0 ? 100 * sum(part, begin, end) / all : kNaN});
  }
  return points;
}

std::vector<CurvePoint> over_time(const Numbers& values, size_t most) {
  const size_t step = values.empty() ? 1 : (values.size() - 1) / most + 1;
  std::vector<CurvePoint> points;
  for (size_t i = 0; i < values.size(); ++i)
    if (i % step == 0 || i + 1 == values.size())
      points.push_back({static_cast<double>(i + 1), values[i]});
  return points;
}

}  // namespace sotta
