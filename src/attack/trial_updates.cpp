#include "attack/trial_updates.h"

#include <algorithm>
#include <map>
#include <string>

namespace sotta {
namespace {

bool starts_with(const std::string& name, const std::string& prefix) {
  return name.compare(0, prefix.size(), prefix) == 0;
}

bool ends_with(const std::string& name, const std::string& suffix) {
  return name.size() >= suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// The published code saved its network `net` and the memory's list of samples.
// Everything else went on from where a trial had left it: that is optimisers,
// random streams, SAR's and EATA's averages, and of two networks the one that
// was not called `net`.
bool is_trace(const std::string& method, const std::string& name) {
  const std::string other_network = method == "cotta"   ? "teacher_"
                                    : method == "rotta" ? "student_"
                                                        : "";
  return starts_with(name, "adam") || starts_with(name, "optimiser") ||
         ends_with(name, ".rng") || name == "ema" ||
         name == "mean_probabilities" ||
         (!other_network.empty() && starts_with(name, other_network));
}

// "memory.items" has six words for each sample kept; these two are its place in
// the stream and its age.
constexpr int64_t kItemWords = 6, kPlace = 1, kAge = 5;

// The list was saved, the samples in it were not: they have aged in the trial.
// One that the trial threw out keeps the age it had before; in the published
// code it aged until then.
at::Tensor with_ages_of(const at::Tensor& before, const at::Tensor& after) {
  std::map<int64_t, int64_t> age_of;
  const auto* word = after.data_ptr<int64_t>();
  for (int64_t i = 0; i < after.numel(); i += kItemWords)
    age_of[word[i + kPlace]] = word[i + kAge];

  at::Tensor items = before.clone();
  auto* item = items.data_ptr<int64_t>();
  for (int64_t i = 0; i < items.numel(); i += kItemWords) {
    const auto found = age_of.find(item[i + kPlace]);
    if (found != age_of.end()) item[i + kAge] = found->second;
  }
  return items;
}

bool keeps_state(const Snapshot& snapshot) {
  return std::any_of(
      snapshot.tensors.begin(), snapshot.tensors.end(),
      [](const auto& entry) { return !starts_with(entry.first, "adapter."); });
}

}  // namespace

Snapshot with_published_traces(const Snapshot& before, const Snapshot& after) {
  Snapshot mixed = before;
  for (const auto& [name, tensor] : after.tensors)
    if (is_trace(after.method, name)) mixed.tensors[name] = tensor;
  const auto items = before.tensors.find("memory.items");
  if (items != before.tensors.end())
    mixed.tensors["memory.items"] =
        with_ages_of(items->second, after.tensors.at("memory.items"));
  return mixed;
}

TrialUpdates::TrialUpdates(Adapter& adapter, bool keep_traces)
    : adapter_(adapter), keep_traces_(keep_traces) {}

// A copy of what a method changes: of most only the norm layers.
ModelState TrialUpdates::copy(const ModelState& state) const {
  const bool own_body = !state.body.is_same(adapter_.model().source().body);
  return own_body ? state.clone() : state.clone_norm();
}

TrialUpdates::Outcome TrialUpdates::run(const at::Tensor& images) {
  if (before_.tensors.empty()) before_ = adapter_.snapshot();
  const Method& method = adapter_.method();
  if (!keeps_state(before_)) return {method.state(), method.trained_state()};

  adapter_.rehearse(images);
  ++count_;
  const Outcome outcome{copy(method.state()), copy(method.trained_state())};
  adapter_.take_back(keep_traces_
                         ? with_published_traces(before_, adapter_.snapshot())
                         : before_);
  return outcome;
}

}  // namespace sotta
