#include "serve/streams/stream_trouble.h"

#include <algorithm>

namespace sotta {
namespace {

// A difference that the windows of a steady stream seldom come to.
constexpr double kFall = 0.05;

}  // namespace

Trouble find_trouble(const StreamStatus& status) {
  const LiveSummary& live = status.live;
  if (!status.unloadable.empty()) return {6, "cannot be loaded"};
  if (!status.problem.empty()) return {5, "not saved or updated"};
  if (!status.frozen.empty()) return {4, "frozen"};
  if (live.guard_trips > 0)
    return {3 + static_cast<double>(live.guard_trips) / LiveFigures::kWindows,
            "guard tripped"};
  if (!status.notice.empty()) return {2, "damaged snapshot"};
  const double fall = std::max(live.admitted_fall, live.confidence_fall);
  if (fall < kFall) return {};
  return {fall, live.confidence_fall == fall ? "confidence falls"
                                             : "fewer images admitted"};
}

}  // namespace sotta
