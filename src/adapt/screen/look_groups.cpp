#include "adapt/screen/look_groups.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/diag.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

namespace sotta {
namespace {

constexpr int64_t kDimensions = 12;  // principal components that are looked at
constexpr int64_t kBeginnings = 5;   // of them that a parting begins from
constexpr int kRounds = 15;
constexpr int64_t kSmallest = 16;   // samples of a group
constexpr double kShrinkage = 0.1;  // of correlations
constexpr double kFloor = 0.02;     // of variances, of their mean
constexpr double kFarthest = 6;     // deviations that count
constexpr double kLeastDeviation = 0.02;
constexpr double kLeastVariance = 1e-9;  // below it all look the same

struct Gaussian {
  at::Tensor mean;    // [d]
  at::Tensor root;    // [d, d], the covariance's lower Cholesky factor
  double weight = 0;  // logarithm of its share less that of its volume
};

at::Tensor covariance(const at::Tensor& offsets, const at::Tensor& shares) {
  return (offsets * shares.unsqueeze(1)).t().mm(offsets) / shares.sum();
}

at::Tensor shrunk(const at::Tensor& covariance) {
  return (1 - kShrinkage) * covariance +
         kShrinkage * at::diag(covariance.diagonal());
}

at::Tensor rows(const at::Tensor& points, const at::Tensor& chosen) {
  return points.index_select(0, chosen.nonzero().squeeze(1));
}

at::Tensor floor_of(const at::Tensor& points) {
  return kFloor * points.var(0).mean() *
         at::eye(points.size(1), points.options());
}

Gaussian fit(const at::Tensor& points, const at::Tensor& shares) {
  Gaussian found;
  found.mean = (points * shares.unsqueeze(1)).sum(0) / shares.sum();
  found.root = at::linalg_cholesky(
      shrunk(covariance(points - found.mean, shares)) + floor_of(points));
  found.weight = std::log(shares.sum().item<double>()) -
                 found.root.diagonal().log().sum().item<double>();
  return found;
}

// Logarithm of how likely each point is, up to what all have in common.
at::Tensor log_likelihood(const at::Tensor& points, const Gaussian& of) {
  const at::Tensor whitened = at::linalg_solve_triangular(
      of.root, (points - of.mean).t(), /*upper=*/false);
  return of.weight - 0.5 * whitened.square().sum(0);
}

using Mixture = std::vector<Gaussian>;

at::Tensor odds(const at::Tensor& points, const Mixture& mixture) {
  return log_likelihood(points, mixture[1]) -
         log_likelihood(points, mixture[0]);
}

// Expectation and maximisation, from a first parting on; none if a group dies
// out.
std::optional<Mixture> fit_mixture(const at::Tensor& points,
                                   const at::Tensor& second) {
  at::Tensor share = second;
  Mixture mixture;
  for (int round = 0; round < kRounds; ++round) {
    const double count = share.sum().item<double>();
    if (std::min(count, static_cast<double>(share.numel()) - count) <
        kSmallest / 2)
      return std::nullopt;
    mixture = {fit(points, 1 - share), fit(points, share)};
    share = odds(points, mixture).sigmoid();
  }
  return mixture;
}

double gap_between(const at::Tensor& first, const at::Tensor& second) {
  if (std::min(first.size(0), second.size(0)) < kSmallest) return 0;
  const auto spread = [](const at::Tensor& points) {
    return covariance(points - points.mean(0),
                      at::full({points.size(0)}, 1.0, points.options()));
  };
  const at::Tensor both = shrunk((spread(first) + spread(second)) / 2) +
                          1e-9 * at::eye(first.size(1), first.options());
  const at::Tensor line =
      at::linalg_solve(both, second.mean(0) - first.mean(0));
  const at::Tensor a = first.mv(line), b = second.mv(line);
  const at::Tensor deviation = ((a.var() + b.var()) / 2).sqrt();
  return ((b.mean() - a.mean()).abs() / deviation).item<double>();
}

// Above the place that leaves least spread on both sides of it.
at::Tensor above_best_cut(const at::Tensor& values) {
  const at::Tensor sorted = std::get<0>(values.sort());
  const auto* value = sorted.data_ptr<double>();
  const int64_t count = sorted.numel();
  const double total = sorted.sum().item<double>();
  double below = 0, best = -1, cut = value[0];
  for (int64_t i = 0; i + 1 < count; ++i) {
    below += value[i];
    const auto n = static_cast<double>(i + 1);
    const double m = static_cast<double>(count) - n;
    const double apart = below / n - (total - below) / m;
    if (n * m * apart * apart <= best) continue;
    best = n * m * apart * apart;
    cut = value[i];
  }
  return (values > cut).to(at::kDouble);
}

// Points far out in any direction.
at::Tensor outlying(const at::Tensor& points) {
  const at::Tensor distance = (points / points.std(0)).square().sum(1);
  const at::Tensor sorted = std::get<0>(distance.sort());
  return (distance > sorted[sorted.numel() * 3 / 4]).to(at::kDouble);
}

// Medians and deviations of the looks, and their principal components.
struct Plane {
  at::Tensor centre, deviation;  // [D]
  at::Tensor mean;               // [D], of what was cut off
  at::Tensor components;         // [D, d]

  at::Tensor place(const at::Tensor& looks) const {
    return (standard(looks) - mean).mm(components);
  }
  at::Tensor standard(const at::Tensor& looks) const {
    return ((looks.to(at::kDouble) - centre) / deviation)
        .clamp(-kFarthest, kFarthest);
  }
};

Plane principal_plane(const at::Tensor& looks) {
  const at::Tensor values = looks.to(at::kDouble);
  Plane plane;
  plane.centre = std::get<0>(values.median(0));
  plane.deviation =
      1.4826 * std::get<0>((values - plane.centre).abs().median(0)) +
      kLeastDeviation;
  const at::Tensor standard = plane.standard(looks);
  plane.mean = standard.mean(0);
  const at::Tensor offsets = standard - plane.mean;
  const at::Tensor vectors = std::get<1>(at::linalg_eigh(
      offsets.t().mm(offsets) / static_cast<double>(offsets.size(0))));
  plane.components = vectors.flip(1).narrow(1, 0, kDimensions).contiguous();
  return plane;
}

at::Tensor pack(const Plane& plane, const Mixture& mixture) {
  std::vector<at::Tensor> parts = {plane.centre, plane.deviation, plane.mean,
                                   plane.components.flatten()};
  for (const Gaussian& one : mixture) {
    parts.push_back(one.mean);
    parts.push_back(one.root.flatten());
    parts.push_back(at::full({1}, one.weight, plane.centre.options()));
  }
  return at::cat(parts).to(at::kFloat);
}

std::pair<Plane, Mixture> unpack(const at::Tensor& packed) {
  const at::Tensor all = packed.to(at::kDouble);
  const int64_t gaussian = kDimensions + kDimensions * kDimensions + 1;
  const int64_t looks = (all.numel() - 2 * gaussian) / (3 + kDimensions);
  int64_t at = 0;
  const auto take = [&](int64_t count) {
    at += count;
    return all.narrow(0, at - count, count);
  };
  Plane plane;
  plane.centre = take(looks);
  plane.deviation = take(looks);
  plane.mean = take(looks);
  plane.components = take(looks * kDimensions).view({looks, kDimensions});
  Mixture mixture(2);
  for (Gaussian& one : mixture) {
    one.mean = take(kDimensions);
    one.root = take(kDimensions * kDimensions).view({kDimensions, kDimensions});
    one.weight = take(1).item<double>();
  }
  return {plane, mixture};
}

}  // namespace

LookGroups LookGroups::part(const at::Tensor& looks) {
  LookGroups found;
  const Plane plane = principal_plane(looks);
  const at::Tensor points = plane.place(looks);
  if (points.var(0).mean().item<double>() < kLeastVariance) return found;
  for (int64_t begin = 0; begin <= kBeginnings; ++begin) {
    const at::Tensor second = begin < kBeginnings
                                  ? above_best_cut(points.select(1, begin))
                                  : outlying(points);
    const auto mixture = fit_mixture(points, second);
    if (!mixture) continue;
    const at::Tensor chosen = odds(points, *mixture) > 0;
    const double gap =
        gap_between(rows(points, chosen.logical_not()), rows(points, chosen));
    if (gap <= found.gap_) continue;
    found.gap_ = gap;
    found.packed_ = pack(plane, *mixture);
  }
  return found;
}

std::vector<int> LookGroups::group_of(const at::Tensor& looks) const {
  std::vector<int> groups;
  for (const float odds : odds_of_second(looks))
    groups.push_back(odds > 0 ? 1 : 0);
  return groups;
}

std::vector<float> LookGroups::odds_of_second(const at::Tensor& looks) const {
  const auto [plane, mixture] = unpack(packed_);
  const at::Tensor found =
      odds(plane.place(looks), mixture).to(at::kFloat).contiguous();
  const auto* each = found.data_ptr<float>();
  return {each, each + found.numel()};
}

LookGroups LookGroups::unpacked(const at::Tensor& packed) {
  LookGroups found;
  found.packed_ = packed;
  return found;
}

int64_t LookGroups::packed_size(int64_t looks) {
  return looks * (3 + kDimensions) +
         2 * (kDimensions + kDimensions * kDimensions + 1);
}

}  // namespace sotta
