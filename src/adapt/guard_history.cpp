#include "adapt/guard_history.h"

#include <algorithm>
#include <string>

#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

const std::string kPrefix = "adapter.guard.";
const std::string kWindows = kPrefix + "windows";
const std::string kCurrent = kPrefix + "current";
const std::string kSinceGood = kPrefix + "since_good";
const std::string kGood = kPrefix + "good.";
const std::string kFloor = kPrefix + "floor.";

// Keeps the sums over a history from overflowing.
constexpr int64_t kMostInAWindow = int64_t{1} << 40;

// The words of a window before its class counts.
constexpr int64_t kScreened = 0, kAdmitted = 1, kClassCounts = 2;

bool starts_with(const std::string& name, const std::string& prefix) {
  return name.compare(0, prefix.size(), prefix) == 0;
}

[[noreturn]] void refuse(const std::string& name,
                         const std::string& expectation) {
  fail(ErrorKind::kBadFormat, "snapshot",
       "expected \"" + name + "\" " + expectation);
}

// Counts, with -1 in `shape` for any extent.
at::Tensor read_counts(const Snapshot& snapshot, const std::string& name,
                       const std::vector<int64_t>& shape) {
  const auto found = snapshot.tensors.find(name);
  if (found == snapshot.tensors.end()) refuse(name, "too, found none");
  const at::Tensor counts = found->second.cpu().contiguous();
  bool fits = counts.scalar_type() == at::kLong &&
              counts.dim() == static_cast<int64_t>(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = shape[i] == -1 || shape[i] == counts.size(static_cast<int64_t>(i));
  if (!fits)
    refuse(name, "as " + c10::str("Long ", at::IntArrayRef(shape)) + ", got " +
                     c10::str(c10::toString(counts.scalar_type()), " ",
                              counts.sizes()));
  const auto* count = counts.data_ptr<int64_t>();
  if (!std::all_of(count, count + counts.numel(), [](int64_t value) {
        return 0 <= value && value <= kMostInAWindow;
      }))
    refuse(name, "to hold counts, got others");
  return counts;
}

at::Tensor pack(const std::deque<GuardHistory::Window>& windows,
                int64_t classes) {
  std::vector<int64_t> words;
  for (const auto& window : windows) {
    words.insert(words.end(), {window.screened, window.admitted});
    words.insert(words.end(), window.class_counts.begin(),
                 window.class_counts.end());
  }
  return at::tensor(words, at::kLong)
      .view({static_cast<int64_t>(windows.size()), kClassCounts + classes});
}

std::deque<GuardHistory::Window> unpack(const at::Tensor& packed) {
  std::deque<GuardHistory::Window> windows;
  for (int64_t i = 0; i < packed.size(0); ++i) {
    const auto* word = packed.data_ptr<int64_t>() + i * packed.size(1);
    windows.push_back({{word + kClassCounts, word + packed.size(1)},
                       word[kScreened],
                       word[kAdmitted]});
    if (word[kAdmitted] > word[kScreened])
      refuse(kWindows, "to admit no more samples than were screened");
  }
  return windows;
}

}  // namespace

void add_history(const GuardHistory& history, Snapshot& snapshot) {
  const auto classes = static_cast<int64_t>(history.current.size());
  snapshot.tensors[kWindows] = pack(history.windows, classes);
  snapshot.tensors[kCurrent] = at::tensor(history.current, at::kLong);
  snapshot.tensors[kSinceGood] = at::tensor({history.since_good}, at::kLong);
  for (const auto& [name, tensor] : history.good.tensors)
    snapshot.tensors[kGood + name] = tensor;
  if (history.floor) save_floor(*history.floor, kFloor, snapshot);
}

std::optional<GuardHistory> history_of(const Snapshot& snapshot,
                                       int64_t classes, int64_t channels) {
  GuardHistory history;
  history.good.method = snapshot.method;
  bool has_any = false;
  for (const auto& [name, tensor] : snapshot.tensors) {
    if (!starts_with(name, kPrefix)) continue;
    has_any = true;
    if (starts_with(name, kGood))
      history.good.tensors[name.substr(kGood.size())] = tensor;
    else if (name != kWindows && name != kCurrent && name != kSinceGood &&
             !is_of_floor(name, kFloor))
      refuse(name, "not to be there");
  }
  if (!has_any) return std::nullopt;

  const at::Tensor current = read_counts(snapshot, kCurrent, {classes});
  const auto* count = current.data_ptr<int64_t>();
  history.current.assign(count, count + classes);
  history.windows =
      unpack(read_counts(snapshot, kWindows, {-1, kClassCounts + classes}));
  history.since_good =
      read_counts(snapshot, kSinceGood, {1}).data_ptr<int64_t>()[0];
  history.floor = read_floor(kFloor, snapshot, classes, channels);
  return history;
}

Snapshot without_history(const Snapshot& snapshot) {
  Snapshot rest;
  rest.method = snapshot.method;
  for (const auto& entry : snapshot.tensors)
    if (!starts_with(entry.first, kPrefix)) rest.tensors.insert(entry);
  return rest;
}

}  // namespace sotta
