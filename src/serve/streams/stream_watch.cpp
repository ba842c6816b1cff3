#include "serve/streams/stream_watch.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "gpu/device_work.h"

namespace sotta {
namespace {

// That of a ruined network may be beyond all numbers, or be none: the largest
// then, as 0 is that of a network as it was loaded.
float distance_from_source(const Adapter& adapter) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const at::Tensor& source = adapter.model().source().affine;
  const DeviceWork at_work(source.device());
  const at::Tensor moved = adapter.state().affine.sub(source);
  const double distance = moved.norm(2, at::kDouble).item<double>();
  return distance < kMost ? static_cast<float>(distance) : kMost;
}

}  // namespace

const char* to_text(StreamEvent::Kind kind) {
  switch (kind) {
    case StreamEvent::Kind::kWindow:
      return "window";
    case StreamEvent::Kind::kGuard:
      return "guard";
    case StreamEvent::Kind::kFreeze:
      return "freeze";
    case StreamEvent::Kind::kThaw:
      return "thaw";
    case StreamEvent::Kind::kReset:
      return "reset";
    case StreamEvent::Kind::kRollback:
      return "rollback";
    case StreamEvent::Kind::kSnapshot:
      return "snapshot";
    case StreamEvent::Kind::kReplace:
      return "replace";
    case StreamEvent::Kind::kStorage:
      return "storage";
  }
  return "";
}

void StreamWatch::observed(const StreamAnswer& answer, const at::Tensor& images,
                           bool fills_window, const Screening& screening) {
  const auto size = images.size(0);
  figures_.add(screening);
  figures_.add(answer, answer.images() - static_cast<size_t>(size));
  if (!fills_window || !options_.source_labels ||
      figures_.summary().windows % kCompareInterval != 0)
    return;
  const int64_t count = std::min(size, kCompared);
  compared_ = images.slice(0, size - count, size).clone();
  compared_labels_.assign(answer.labels.end() - count, answer.labels.end());
}

void StreamWatch::learnt(const Adapter& adapter, const UpdateReport& report,
                         double seconds) {
  compare_with_source();
  WindowFigures end;
  end.learnt = report.applied;
  end.guard = !report.guard.empty();
  end.distance = distance_from_source(adapter);
  end.update_seconds = static_cast<float>(seconds);
  end_window(end, report.verdicts);
  if (end.guard) tell(StreamEvent::Kind::kGuard, report.guard);
}

void StreamWatch::answered(const StreamAnswer& answer) {
  figures_.add(answer);
  if (figures_.filling() < options_.window) return;
  WindowFigures end;
  end.distance = static_cast<float>(figures_.summary().distance);
  end_window(end, std::vector<Verdict>(static_cast<size_t>(figures_.filling()),
                                       Verdict::kNotScreened));
}

void StreamWatch::end_window(const WindowFigures& end,
                             const std::vector<Verdict>& verdicts) {
  const WindowFigures& window = figures_.close(end, verdicts);
  if (options_.observer && !muted_)
    options_.observer({StreamEvent::Kind::kWindow, "", &window});
}

void StreamWatch::compare_with_source() {
  if (!compared_.defined()) return;
  try {
    figures_.compare(compared_labels_,
                     options_.source_labels(std::exchange(compared_, {})));
  } catch (const std::exception&) {
    // Memory may run out; the stream does not depend on it.
  }
}

void StreamWatch::tell(StreamEvent::Kind kind,
                       const std::string& detail) const {
  if (options_.observer && !muted_) options_.observer({kind, detail, nullptr});
}

void StreamWatch::measure(const Adapter& adapter) {
  figures_.set_distance(distance_from_source(adapter));
}

void StreamWatch::tell_jump(const Adapter& adapter, StreamEvent::Kind kind,
                            const std::string& detail) {
  measure(adapter);
  tell(kind, detail);
}

}  // namespace sotta
