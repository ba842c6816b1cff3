#include "stream/arrange.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/draw.h"

namespace sotta {
namespace {

// The logarithm of a draw from the gamma distribution, after Marsaglia and
// Tsang (2000). A small shape makes numbers that only fit as logarithms.
double log_gamma_draw(double shape, Rng& rng) {
  if (shape < 1) {
    const double larger = log_gamma_draw(shape + 1, rng);
    return larger + std::log1p(-rng.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = rng.normal();
    const double root = 1 + c * x;
    const double log_u = std::log1p(-rng.uniform());
    if (root <= 0) continue;
    const double v = root * root * root;
    if (log_u < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v);
  }
}

std::vector<double> dirichlet_draw(int64_t parts, double concentration,
                                   Rng& rng) {
  std::vector<double> shares(static_cast<size_t>(parts));
  for (double& share : shares)
    share = log_gamma_draw(concentration, rng);
  const double largest = *std::max_element(shares.begin(), shares.end());
  for (double& share : shares)
    share = std::exp(share - largest);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares)
    share /= sum;
  return shares;
}

std::vector<int64_t> shuffled(const std::vector<int64_t>& values,
                              const Rng& rng) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<int64_t> result;
  result.reserve(values.size());
  for (const int64_t i : draw_without_replacement(count, count, rng))
    result.push_back(values[static_cast<size_t>(i)]);
  return result;
}

}  // namespace

std::vector<int64_t> resample(int64_t size, int64_t count, const Rng& rng) {
  auto chosen = draw_without_replacement(size, count % size, rng.child("rest"));
  if (count < size) return chosen;
  chosen.reserve(static_cast<size_t>(count));
  for (int64_t copy = 0; copy < count / size; ++copy)
    for (int64_t i = 0; i < size; ++i)
      chosen.push_back(i);
  return shuffled(chosen, rng.child("shuffle"));
}

std::vector<int64_t> dirichlet_order(const std::vector<int64_t>& labels,
                                     int64_t classes, double concentration,
                                     const Rng& rng) {
  std::vector<std::vector<int64_t>> by_class(static_cast<size_t>(classes));
  for (size_t i = 0; i < labels.size(); ++i)
    by_class[static_cast<size_t>(labels[i])].push_back(static_cast<int64_t>(i));

  std::vector<std::vector<int64_t>> slots(static_cast<size_t>(classes));
  Rng shares_rng = rng.child("shares");
  for (size_t c = 0; c < by_class.size(); ++c) {
    const auto members = shuffled(by_class[c], rng.child("class").child(c));
    const auto shares = dirichlet_draw(classes, concentration, shares_rng);
    double sum = 0;
    size_t begin = 0;
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      sum += shares[slot];
      const auto end =
          slot + 1 == slots.size()
              ? members.size()
              : static_cast<size_t>(std::min(1.0, sum) *
                                        static_cast<double>(members.size()) +
                                    0.5);
      for (; begin < end; ++begin)
        slots[slot].push_back(members[begin]);
    }
  }

  std::vector<int64_t> order;
  for (size_t slot = 0; slot < slots.size(); ++slot)
    for (const int64_t i : shuffled(slots[slot], rng.child("slot").child(slot)))
      order.push_back(i);
  return order;
}

std::vector<bool> interleave(int64_t others, int64_t foreign, int64_t burst,
                             const Rng& rng) {
  const int64_t length = std::max<int64_t>(1, burst);
  const int64_t runs = (foreign + length - 1) / length;
  std::vector<bool> is_foreign;
  is_foreign.reserve(static_cast<size_t>(others + foreign));
  // The units 0 .. runs-1 are the runs; the last of them takes what is left.
  for (const int64_t unit :
       draw_without_replacement(others + runs, others + runs, rng)) {
    const int64_t members =
        unit < runs ? std::min(length, foreign - unit * length) : 1;
    is_foreign.insert(is_foreign.end(), static_cast<size_t>(members),
                      unit < runs);
  }
  return is_foreign;
}

}  // namespace sotta
