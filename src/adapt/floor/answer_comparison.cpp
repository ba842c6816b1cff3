#include "adapt/floor/answer_comparison.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

#include "adapt/screen/look.h"
#include "adapt/screen/look_groups.h"
#include "adapt/stored_count.h"

namespace sotta {
namespace {

constexpr double kGap = 5.5;  // above it a stream holds two kinds of images
constexpr int64_t kFewestOfAKind = 24;
constexpr double kClearlyMore = 2;   // a kind is known, by this factor
constexpr double kFewClasses = 0.5;  // of ln K
constexpr double kSurprise = 1;      // nats
constexpr double kTiny = 1e-12;

at::Tensor entropy(const at::Tensor& probabilities) {
  return -(probabilities * probabilities.clamp_min(kTiny).log()).sum(-1);
}

at::Tensor last_rows(const at::Tensor& front, const at::Tensor& back) {
  const at::Tensor all = front.defined() ? at::cat({front, back}) : back;
  const int64_t extra = all.size(0) - AnswerComparison::kAnswers;
  return extra > 0 ? all.slice(0, extra).clone() : all.clone();
}

// How surprising the adapted network's classes are to the source model, in
// nats.
double surprise(const at::Tensor& adapted, const at::Tensor& source) {
  const at::Tensor seen = adapted.to(at::kDouble).mean(0).clamp_min(kTiny);
  const at::Tensor expected = source.to(at::kDouble).mean(0).clamp_min(kTiny);
  return (seen * (seen / expected).log()).sum().item<double>();
}

// Of one kind of images.
struct Kind {
  AnswerComparison::Result result;
  double known = 0;  // by both networks
};

Kind compared(const at::Tensor& adapted, const at::Tensor& source) {
  const Telling own = telling_of(adapted), given = telling_of(source);
  Kind kind;
  kind.known = own.information() + given.information();
  kind.result.images = adapted.size(0);
  const double most = std::log(static_cast<double>(adapted.size(1)));
  const double ahead = own.information() - given.information() +
                       std::min(0.0, own.variety - given.variety);
  if (ahead > 0 || given.variety >= kFewClasses * most)
    kind.result.ahead = ahead;
  else if (surprise(adapted, source) > kSurprise)
    kind.result.ahead = -1;
  else
    kind.result.undecided = true;
  return kind;
}

AnswerComparison::Result of_both(const AnswerComparison::Result& a,
                                 const AnswerComparison::Result& b) {
  if (a.undecided || b.undecided) return a.undecided ? b : a;
  return {(a.ahead + b.ahead) / 2, false, a.images + b.images};
}

at::Tensor rows_of(const std::vector<int>& groups, int which) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i] == which) rows.push_back(static_cast<int64_t>(i));
  return at::tensor(rows, at::kLong);
}

}  // namespace

Telling telling_of(const at::Tensor& probabilities) {
  const at::Tensor shares = probabilities.to(at::kDouble);
  const at::Tensor mean = shares.mean(0);
  // The entropy of a mean of n rows is too small by this, to first order (for
  // rows of 0 and 1 it is Miller and Madow's (K - 1) / 2n).
  const at::Tensor variance =
      (shares.square().mean(0) - mean.square()).clamp_min(0);
  const at::Tensor missing = (variance / mean.clamp_min(kTiny)).sum() /
                             (2 * static_cast<double>(shares.size(0)));
  return {(entropy(mean) + missing).item<double>(),
          entropy(shares).mean().item<double>()};
}

void AnswerComparison::add(const at::Tensor& looks, const at::Tensor& adapted,
                           const at::Tensor& source) {
  const at::Tensor sound =
      (at::isfinite(adapted).all(1) & at::isfinite(source).all(1))
          .nonzero()
          .squeeze(1);
  if (sound.numel() == 0) return;
  if (looks.defined()) looks_ = last_rows(looks_, looks.index_select(0, sound));
  adapted_ = last_rows(adapted_, adapted.index_select(0, sound));
  source_ = last_rows(source_, source.index_select(0, sound));
  unparted_ += sound.numel();
}

void AnswerComparison::forget() {
  *this = {};
}

void AnswerComparison::part_looks() {
  parted_ = size();
  unparted_ = 0;
  const LookGroups groups = LookGroups::part(looks_);
  groups_ = groups.gap() < kGap ? at::Tensor() : groups.packed();
}

std::optional<AnswerComparison::Result> AnswerComparison::compare() {
  if (size() < kFewest) return std::nullopt;
  const auto all = [&] { return compared(adapted_, source_).result; };
  if (!looks_.defined()) return all();
  if (unparted_ >= parted_) part_looks();
  if (!groups_.defined()) return all();

  const std::vector<int> group = LookGroups::unpacked(groups_).group_of(looks_);
  std::vector<Kind> kinds;
  for (const int which : {0, 1}) {
    const at::Tensor rows = rows_of(group, which);
    if (rows.numel() < kFewestOfAKind) return all();
    kinds.push_back(compared(adapted_.index_select(0, rows),
                             source_.index_select(0, rows)));
  }
  for (const size_t which : {0, 1})
    if (kinds[which].known > kClearlyMore * kinds[1 - which].known)
      return kinds[which].result;
  return of_both(kinds[0].result, kinds[1].result);
}

void AnswerComparison::save(const std::string& prefix,
                            Snapshot& snapshot) const {
  const auto put = [&](const char* name, const at::Tensor& value) {
    if (value.defined()) snapshot.tensors[prefix + name] = value;
  };
  put("adapted", adapted_);
  put("source", source_);
  put("looks", looks_);
  put("groups", groups_);
  put("counts", at::tensor({parted_, unparted_}, at::kLong));
}

AnswerComparison AnswerComparison::read(const std::string& prefix,
                                        const Snapshot& snapshot,
                                        int64_t classes, int64_t channels) {
  const auto find = [&](const char* name) {
    const auto found = snapshot.tensors.find(prefix + name);
    return found == snapshot.tensors.end() ? at::Tensor()
                                           : found->second.cpu().contiguous();
  };
  AnswerComparison comparison;
  comparison.adapted_ = find("adapted");
  comparison.source_ = find("source");
  comparison.looks_ = find("looks");
  comparison.groups_ = find("groups");
  const at::Tensor counts = find("counts");
  const bool has_counts =
      counts.defined() && counts.dim() == 1 && counts.numel() == 2 &&
      counts.scalar_type() == at::kLong &&
      counts.ge(0).logical_and(counts.le(kMostCounted)).all().item<bool>();
  if (!has_counts || !comparison.fits(classes, channels))
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected \"" + prefix +
             "adapted\" and others to be two networks' answers to the same "
             "images, got others");
  comparison.parted_ = counts.data_ptr<int64_t>()[0];
  comparison.unparted_ = counts.data_ptr<int64_t>()[1];
  return comparison;
}

bool AnswerComparison::fits(int64_t classes, int64_t channels) const {
  if (!adapted_.defined())
    return !source_.defined() && !looks_.defined() && !groups_.defined();
  const auto is_table = [&](const at::Tensor& values) {
    return values.defined() && values.scalar_type() == at::kFloat &&
           values.dim() == 2 && values.size(0) >= 1 &&
           values.size(0) <= kAnswers && values.size(0) == adapted_.size(0) &&
           at::isfinite(values).all().item<bool>();
  };
  const auto are_answers = [&](const at::Tensor& values) {
    return is_table(values) && values.size(1) == classes &&
           values.ge(0).logical_and(values.le(1)).all().item<bool>();
  };
  if (adapted_.dim() != 2 || !are_answers(adapted_) || !are_answers(source_))
    return false;
  if (!looks_.defined()) return !groups_.defined();
  if (!is_table(looks_) || looks_.size(1) != look_length(channels))
    return false;
  return !groups_.defined() ||
         (groups_.scalar_type() == at::kFloat && groups_.dim() == 1 &&
          groups_.numel() == LookGroups::packed_size(looks_.size(1)) &&
          at::isfinite(groups_).all().item<bool>());
}

}  // namespace sotta
