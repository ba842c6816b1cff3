#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"

#include "serve/streams/live_figures.h"
#include "serve/streams/stream_answer.h"

namespace sotta {

// Something that happened to a stream and that people who watch it want to
// know.
struct StreamEvent {
  enum class Kind {
    kWindow,    // one ended
    kGuard,     // one tripped
    kFreeze,    // by request
    kThaw,      //
    kReset,     // by a command or a request
    kRollback,  //
    kSnapshot,  // one was kept by request
    kReplace,   // by a state from elsewhere
    kStorage,   // it cannot be saved or updated; without a detail: it can again
  };
  Kind kind = Kind::kWindow;
  std::string detail;                     // a sentence or a number, or empty
  const WindowFigures* window = nullptr;  // of kWindow; valid during the call
};

const char* to_text(StreamEvent::Kind kind);  // "window", "guard", ...

struct WatchOptions {
  int64_t window = 64;  // images, where nothing is learnt

  // Is told what happens, in the thread in which it does. Must not throw.
  std::function<void(const StreamEvent&)> observer = {};

  // Labels by the model as it was loaded; none: predictions are not compared
  // with its.
  std::function<std::vector<int64_t>(const at::Tensor&)> source_labels = {};
};

// Watches a stream for people: keeps its figures and tells an observer.
class StreamWatch {
 public:
  // Predictions are compared with the source model's on the last kCompared
  // images at most of every kCompareInterval-th window: with windows of 64, an
  // eighth of a forward pass of all images.
  static constexpr int64_t kCompareInterval = 4;
  static constexpr int64_t kCompared = 32;

  explicit StreamWatch(WatchOptions options) : options_(std::move(options)) {}

  // Images that the adapter has just observed: the last of an answer.
  void observed(const StreamAnswer& answer, const at::Tensor& images,
                bool fills_window, const Screening& screening = {});

  // An update after them, which took so long.
  void learnt(const Adapter& adapter, const UpdateReport& report,
              double seconds);

  // An answer from which nothing is learnt.
  void answered(const StreamAnswer& answer);
  void add_latency(double seconds) { figures_.add_latency(seconds); }

  // The distance of a network that has changed without an update: it was
  // loaded, say.
  void measure(const Adapter& adapter);

  void tell(StreamEvent::Kind kind, const std::string& detail = "") const;

  // Where the network has changed without an update.
  void tell_jump(const Adapter& adapter, StreamEvent::Kind kind,
                 const std::string& detail = "");

  // While one is muted, what happens is no news.
  void mute(bool muted) { muted_ = muted; }

  const LiveFigures& figures() const { return figures_; }
  void set_figures(LiveFigures figures) { figures_ = std::move(figures); }

 private:
  void end_window(const WindowFigures& end,
                  const std::vector<Verdict>& verdicts);
  void compare_with_source();

  WatchOptions options_;
  bool muted_ = false;
  LiveFigures figures_;
  at::Tensor compared_;  // images that wait for the source model's labels
  std::vector<int64_t> compared_labels_;  // by the stream's own network
};

}  // namespace sotta
