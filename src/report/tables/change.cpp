#include "report/tables/change.h"

#include <cmath>
#include <vector>

#include "report/tables/statistics.h"

namespace sotta {
namespace {

using BySeed = std::map<int64_t, double>;
using Numbers = std::vector<double>;

constexpr double kUpperTail = 0.975;         // of a two-sided 95 % interval
constexpr double kUpperQuantile = 1.959964;  // of the normal distribution

Numbers values_of(const BySeed& by_seed) {
  Numbers values;
  for (const auto& entry : by_seed)
    values.push_back(entry.second);
  return values;
}

// Of the mean: its squared standard error.
double squared_error(const Numbers& values) {
  const double std = sample_std(values);
  return std * std / static_cast<double>(values.size());
}

void set_interval(Change& change, double half) {
  change.low = change.difference - half;
  change.high = change.difference + half;
}

void use_pairs(Change& change, const Numbers& now, const Numbers& before) {
  Numbers differences;
  for (size_t i = 0; i < now.size(); ++i)
    differences.push_back(now[i] - before[i]);
  const auto freedom = static_cast<double>(differences.size() - 1);
  change.basis = ChangeBasis::kPairedSeeds;
  set_interval(change, student_quantile(kUpperTail, freedom) *
                           std::sqrt(squared_error(differences)));
}

void use_welch(Change& change, const Numbers& now, const Numbers& before) {
  const double a = squared_error(now);
  const double b = squared_error(before);
  change.basis = ChangeBasis::kSeeds;
  if (a + b == 0) return set_interval(change, 0);
  const double freedom = (a + b) * (a + b) /
                         (a * a / static_cast<double>(now.size() - 1) +
                          b * b / static_cast<double>(before.size() - 1));
  set_interval(change,
               student_quantile(kUpperTail, freedom) * std::sqrt(a + b));
}

ChangeKind kind_of(const Change& change, bool same) {
  if (same) return ChangeKind::kSame;
  if (change.low > 0) return ChangeKind::kHigher;
  if (change.high < 0) return ChangeKind::kLower;
  return ChangeKind::kWithinNoise;
}

}  // namespace

Change compare_seeds(const BySeed& now, const BySeed& before,
                     double image_error) {
  BySeed shared_now;
  BySeed shared_before;
  for (const auto& [seed, value] : now) {
    const auto other = before.find(seed);
    if (other == before.end()) continue;
    shared_now[seed] = value;
    shared_before[seed] = other->second;
  }
  const bool paired = shared_now.size() >= 2;
  const Numbers a = values_of(paired ? shared_now : now);
  const Numbers b = values_of(paired ? shared_before : before);

  Change change;
  change.now = mean(a);
  change.before = mean(b);
  change.now_seeds = static_cast<int64_t>(a.size());
  change.before_seeds = static_cast<int64_t>(b.size());
  change.difference = change.now - change.before;
  if (paired)
    use_pairs(change, a, b);
  else if (a.size() >= 2 && b.size() >= 2)
    use_welch(change, a, b);
  else
    set_interval(change, kUpperQuantile * image_error);
  change.kind = kind_of(change, now == before);
  return change;
}

}  // namespace sotta
