#include "adapt/screen/look_screen.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

#include "adapt/memory/images.h"
#include "adapt/screen/look.h"

namespace sotta {
namespace {

constexpr int64_t kLooks = 256;   // samples whose looks are parted
constexpr int64_t kImages = 128;  // of them whose images are kept
constexpr int64_t kFirst = 64;    // samples before the first parting
constexpr int64_t kBetween =
    128;  // samples between partings, when kLooks are there
constexpr int64_t kAsked = 32;  // images of a group the network is asked about
constexpr int64_t kFewest = 12;
constexpr int64_t kAnswers = 8;    // that an average goes back
constexpr double kCaution = 0.08;  // by which one answer has to be clearer
constexpr double kSame = 0.8;      // share of looks that two partings agree on
constexpr float kLeast = 1e-4F;

at::Tensor last_rows(const at::Tensor& rows, int64_t count) {
  const int64_t have = rows.size(0);
  return have <= count ? rows : rows.narrow(0, have - count, count).clone();
}

double agreement(const std::vector<int>& a, const std::vector<int>& b) {
  double same = 0;
  for (size_t i = 0; i < a.size(); ++i)
    same += a[i] == b[i];
  return same / static_cast<double>(a.size());
}

at::Tensor entropy(const at::Tensor& probabilities) {
  return -(probabilities * probabilities.clamp_min(1e-12).log()).sum(-1);
}

}  // namespace

std::vector<bool> are_foreign(const std::vector<float>& scores) {
  std::vector<bool> foreign;
  for (const float score : scores)
    foreign.push_back(score > 0);  // NaN is not
  return foreign;
}

LookScreen::LookScreen(std::shared_ptr<const Executor> executor,
                       const LookScreenOptions& options)
    : executor_(std::move(executor)), options_(options) {}

Screening LookScreen::judge(const at::Tensor& images) {
  const at::NoGradGuard no_gradients;
  changed_ = false;
  if (!has_look(images))
    return {std::vector<float>(static_cast<size_t>(images.size(0))), gate()};
  const at::Tensor looks = host_looks(images);
  remember(images, looks);
  const int64_t have = looks_.size(0);
  const int64_t due = have < kLooks ? kFirst : kBetween;
  if (unparted_ >= due) part_anew();
  return {scores(looks), gate()};
}

std::vector<bool> LookScreen::is_foreign(const at::Tensor& images) const {
  const at::NoGradGuard no_gradients;
  if (!has_look(images))
    return std::vector<bool>(static_cast<size_t>(images.size(0)));
  return are_foreign(scores(host_looks(images)));
}

at::Tensor LookScreen::host_looks(const at::Tensor& images) const {
  at::Tensor looks = describe_look(images);
  executor_->bring_to_host({&looks});
  return looks;
}

std::vector<float> LookScreen::scores(const at::Tensor& looks) const {
  if (!active()) return std::vector<float>(static_cast<size_t>(looks.size(0)));
  std::vector<float> found =
      LookGroups::unpacked(groups_).odds_of_second(looks);
  if (foreign_ == 0)
    for (float& score : found)
      score = -score;
  return found;
}

// The averages are logarithms of the second group's over the first's.
ScreenGate LookScreen::gate() const {
  ScreenGate gate;
  gate.closed = active();
  gate.gap = gap_;
  if (answers_ == 0) return gate;
  gate.information = std::exp(-std::abs(information_));
  gate.drift = std::exp(information_ < 0 ? drift_ : -drift_);
  return gate;
}

void LookScreen::remember(const at::Tensor& images, const at::Tensor& looks) {
  looks_ = last_rows(
      looks_.defined() ? at::cat({looks_, looks}) : looks.clone(), kLooks);
  images_ = last_rows(join_images(images_, images), kImages);
  unparted_ += looks.size(0);
}

void LookScreen::part_anew() {
  unparted_ = 0;
  changed_ = true;
  const LookGroups groups = LookGroups::part(looks_);
  gap_ = groups.gap();
  if (gap_ < options_.gap) {
    groups_ = at::Tensor();
    answers_ = 0;
  } else {
    ask_about(groups);
  }
  foreign_ = foreign_group();
}

// Goes on with the averages of the groups before if these are the same ones.
void LookScreen::ask_about(const LookGroups& groups) {
  const std::vector<int> group = groups.group_of(looks_);
  if (groups_.defined()) {
    const double same =
        agreement(LookGroups::unpacked(groups_).group_of(looks_), group);
    if (same < 1 - kSame) {  // the same, in the other order
      information_ = -information_;
      drift_ = -drift_;
    } else if (same < kSame) {
      answers_ = 0;
    }
  }
  groups_ = groups.packed();
  const at::Tensor first = some_of(group, 0), second = some_of(group, 1);
  if (!first.defined() || !second.defined()) return;
  const Familiarity a = familiarity(first), b = familiarity(second);
  const double information = std::log(b.information / a.information);
  const double drift = std::log(b.drift / a.drift);
  if (!std::isfinite(information) || !std::isfinite(drift)) return;
  // Earlier versions kept answers that are no numbers.
  if (!std::isfinite(information_) || !std::isfinite(drift_)) answers_ = 0;
  if (answers_ == 0) information_ = drift_ = 0;
  answers_ = std::min(answers_ + 1, kAnswers);
  const double share = 1 / static_cast<double>(answers_);
  information_ += share * (information - information_);
  drift_ += share * (drift - drift_);
}

// The last images of a group, given those of all looks; undefined if they are
// too few.
at::Tensor LookScreen::some_of(const std::vector<int>& groups,
                               int which) const {
  const int64_t before = looks_.size(0) - images_.size(0);
  std::vector<int64_t> rows;
  for (int64_t i = images_.size(0); i-- > 0;)
    if (groups[static_cast<size_t>(before + i)] == which &&
        static_cast<int64_t>(rows.size()) < kAsked)
      rows.push_back(i);
  if (static_cast<int64_t>(rows.size()) < kFewest) return {};
  return images_.index_select(
      0, executor_->to_device(at::tensor(rows, at::kLong)));
}

// -1 unless the network clearly knows one of the two groups better. How far
// information differs, between kinds and from answer to answer, grows with the
// logarithm of the number of classes.
int64_t LookScreen::foreign_group() const {
  if (answers_ == 0) return -1;
  const double tens =
      std::log10(static_cast<double>(executor_->model().classes()));
  const double clear = std::max(1.0, tens) *
                       (-std::log(options_.familiarity) +
                        kCaution / std::sqrt(static_cast<double>(answers_)));
  const bool drifts = count_batch_norms(executor_->model().norm_layers()) > 0;
  const double drift = drifts ? std::log(options_.drift) : 0;
  if (information_ < -clear && drift_ >= drift) return 1;
  if (information_ > clear && drift_ <= -drift) return 0;
  return -1;
}

LookScreen::Familiarity LookScreen::familiarity(
    const at::Tensor& images) const {
  const ModelState& source = executor_->model().source();
  const ForwardResult result =
      executor_->forward(images, source, NormStats::batch());
  const at::Tensor shares = result.logits.softmax(1);
  at::Tensor information = entropy(shares.mean(0)) - entropy(shares).mean();
  at::Tensor drift = information.new_zeros({});
  if (result.batch_var.defined() && result.batch_var.numel() > 0) {
    const int64_t channels = result.batch_var.numel();
    const int64_t last = std::max<int64_t>(1, channels / 4);
    const auto deviation = [&](const at::Tensor& variances) {
      return 0.5 * (variances.narrow(0, channels - last, last) + 1e-5).log();
    };
    drift = (deviation(result.batch_var) - deviation(source.running_var))
                .abs()
                .mean();
  }
  at::Tensor both = at::stack({information, drift}).to(at::kFloat);
  executor_->bring_to_host({&both});
  const auto* value = both.data_ptr<float>();
  return {std::max(value[0], kLeast), std::max(value[1], kLeast)};
}

void LookScreen::exchange(StateArchive& archive) {
  archive.varying("screen.looks", looks_, at::kCPU, {-1, -1});
  archive.images("screen.images", images_, executor_->device());
  archive.varying("screen.groups", groups_, at::kCPU, {-1});
  archive("screen.foreign", foreign_);
  archive("screen.answers", answers_);
  archive("screen.information", information_);
  archive("screen.drift", drift_);
  archive("screen.unparted", unparted_);
  archive("screen.gap", gap_);
  if (!archive.saving()) check_stored(archive);
}

void LookScreen::check_stored(const StateArchive& archive) const {
  const at::Tensor looks = archive.stored("screen.looks");
  const at::Tensor images = archive.stored("screen.images");
  const at::Tensor groups = archive.stored("screen.groups");
  const int64_t length = look_length(executor_->model().channels());
  const auto is_within = [&](const char* name, int64_t least, int64_t most) {
    const auto value = archive.stored(name).item<int64_t>();
    return least <= value && value <= most;
  };
  const auto are_numbers = [](const at::Tensor& values) {
    return at::isfinite(values).all().item<bool>();
  };
  bool fits = looks.defined() == images.defined() &&
              is_within("screen.foreign", -1, groups.defined() ? 1 : -1) &&
              is_within("screen.answers", 0, kAnswers) &&
              is_within("screen.unparted", 0, kBetween);
  if (looks.defined())
    fits = fits && looks.size(1) == length && looks.size(0) <= kLooks &&
           images.size(0) == std::min(looks.size(0), kImages) &&
           are_numbers(looks);
  if (groups.defined())
    fits = fits && groups.numel() == LookGroups::packed_size(length) &&
           are_numbers(groups);
  if (!fits)
    fail(ErrorKind::kBadFormat, "snapshot",
         "its screen does not fit this adapter's");
}

}  // namespace sotta
