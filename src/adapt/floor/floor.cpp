#include "adapt/floor/floor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

#include "adapt/bit_cast.h"
#include "adapt/fixed_method.h"
#include "adapt/screen/look.h"
#include "adapt/stored_count.h"

namespace sotta {
namespace {

// Images that an adapted network has to have answered before it may answer
// again, and histories that it is given to get ahead.
constexpr int64_t kProbation = 128;
constexpr int64_t kPatience = 4;

// The words of a stored state.
constexpr int64_t kSourceAnswers = 0, kBroken = 1, kSinceLook = 2,
                  kWorseFor = 3, kBest = 4, kWords = 5;

std::string in_nats(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace

Floor::Floor(const MethodContext& context, const GuardOptions& options)
    : executor_(executor_of(context)),
      options_(options),
      source_(make_fixed_method(context, NormStats::running())) {}

void Floor::watch(const at::Tensor& images, Observation& seen) {
  const bool is_sound = all_finite(seen.prediction);
  if (is_sound && !looks()) return;
  const at::NoGradGuard no_gradients;
  const Observation source = source_->observe(images, false);
  if (looks()) {
    at::Tensor adapted_shares = seen.logits.softmax(1);
    at::Tensor source_shares = source.logits.softmax(1);
    at::Tensor looks;
    std::vector<at::Tensor*> numbers = {&adapted_shares, &source_shares};
    if (has_look(images)) {
      looks = describe_look(images);
      numbers.push_back(&looks);
    }
    executor_->bring_to_host(numbers);
    state_.answers.add(looks, adapted_shares, source_shares);
  }
  const bool can_help = !is_sound && all_finite(source.prediction);
  state_.broken = state_.broken || can_help;
  if (!state_.source_answers && !can_help) return;
  seen.logits = source.logits;
  seen.prediction = source.prediction;
  seen.by_source = true;
}

// Fewer images have to be clearer.
double Floor::doubt_about(int64_t images) const {
  return options_.margin *
         std::sqrt(static_cast<double>(AnswerComparison::kAnswers) /
                   static_cast<double>(images));
}

Floor::Ruling Floor::rule(bool due_for_snapshot) {
  const bool has_looked = looks();
  state_.since_look = (state_.since_look + 1) % options_.look_every;
  Ruling ruling;
  ruling.to_good = state_.best > 0;
  if (std::exchange(state_.broken, false)) {
    ruling.trouble = "the adapted network's answers are not finite";
    return ruling;
  }
  if (!has_looked) return {};
  const auto found = state_.answers.compare();
  if (!found || found->undecided) return {};

  const double doubt = doubt_about(found->images);
  const bool is_better = found->ahead > options_.margin + doubt;
  const bool is_worse = found->ahead < options_.margin - doubt;
  state_.worse_for = is_worse ? state_.worse_for + 1 : 0;
  if (is_worse)
    ruling.trouble = "the adapted network's answers tell " +
                     in_nats(-found->ahead) +
                     " nats less than the source model's";
  if (state_.source_answers) {
    // The method learns on, and is not put back again for a while.
    if (state_.worse_for / kPatience < options_.history) ruling.trouble.clear();
    if (is_better && state_.answers.size() >= kProbation)
      state_.source_answers = false;
    return ruling;
  }
  ruling.is_good = due_for_snapshot && is_better && found->ahead >= state_.best;
  if (ruling.is_good) state_.best = found->ahead;
  return ruling;
}

void Floor::put_back() {
  state_ = {};
  state_.source_answers = true;
}

bool is_of_floor(const std::string& name, const std::string& prefix) {
  const std::vector<std::string> names = {"state", "adapted", "source",
                                          "looks", "groups",  "counts"};
  return std::any_of(names.begin(), names.end(), [&](const std::string& own) {
    return name == prefix + own;
  });
}

void save_floor(const FloorState& state, const std::string& prefix,
                Snapshot& snapshot) {
  snapshot.tensors[prefix + "state"] = at::tensor(
      {int64_t{state.source_answers}, int64_t{state.broken}, state.since_look,
       state.worse_for, bit_cast<int64_t>(state.best)},
      at::kLong);
  state.answers.save(prefix, snapshot);
}

std::optional<FloorState> read_floor(const std::string& prefix,
                                     const Snapshot& snapshot, int64_t classes,
                                     int64_t channels) {
  const auto found = snapshot.tensors.find(prefix + "state");
  if (found == snapshot.tensors.end()) return std::nullopt;
  const at::Tensor words = found->second.cpu().contiguous();
  FloorState state;
  bool fits = words.scalar_type() == at::kLong && words.dim() == 1 &&
              words.numel() == kWords;
  if (fits) {
    const auto* word = words.data_ptr<int64_t>();
    state.source_answers = word[kSourceAnswers] == 1;
    state.broken = word[kBroken] == 1;
    state.since_look = word[kSinceLook];
    state.worse_for = word[kWorseFor];
    state.best = bit_cast<double>(word[kBest]);
    const auto is_count = [](int64_t value) {
      return 0 <= value && value <= kMostCounted;
    };
    fits = (word[kSourceAnswers] | 1) == 1 && (word[kBroken] | 1) == 1 &&
           is_count(state.since_look) && is_count(state.worse_for) &&
           std::isfinite(state.best) && state.best >= 0;
  }
  if (!fits)
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected \"" + prefix + "state\" to be a floor's, got another");
  state.answers = AnswerComparison::read(prefix, snapshot, classes, channels);
  return state;
}

}  // namespace sotta
