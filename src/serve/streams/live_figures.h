#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sotta/adapt/screening.h"
#include "sotta/adapt/verdict.h"

#include "serve/streams/stream_answer.h"

namespace sotta {

// One window of a stream in numbers. A window ends with an update, or after as
// many images where nothing is learnt.
struct WindowFigures {
  int64_t number = 0;  // windows of the stream before it, in this process
  int32_t images = 0;
  int32_t requests = 0;
  std::array<int32_t, kVerdicts> verdicts = {};
  float confidence = 0;  // mean over its images
  float entropy = 0;     // likewise; 0 is certain, 1 is all classes alike
  float latency = 0;     // seconds from arrival to answer, mean of requests
  float update_seconds = 0;
  float distance = 0;   // see LiveSummary
  bool learnt = false;  // an update was applied
  bool guard = false;   // a guard tripped

  // By a screen of the method's own; none if it has none. The gate is that
  // after the window's last image.
  std::optional<ScreenGate> gate;
  int32_t foreign = 0;  // images with a score above 0

  double admitted_share() const;
};

// The latest windows of a stream in a few numbers. Shares and means are those
// of the last kRecent windows.
struct LiveSummary {
  int64_t windows = 0;      // ended so far, in this process
  int64_t guard_trips = 0;  // in the windows on record
  double admitted_share = 0;
  double confidence = 0;
  double entropy = 0;
  double latency = 0;

  // By how much the last kRecent windows lie below those before them; 0 if they
  // do not, or too few windows are there.
  double admitted_fall = 0;
  double confidence_fall = 0;

  // L2 distance of the norm layers' scales and shifts from the source model's.
  double distance = 0;

  static constexpr size_t kRecent = 8;
};

// What happens in a stream, for people who watch it: the last kWindows windows
// and what classes are predicted. Takes about 7 kB; no part of a stream's
// state, and no image.
class LiveFigures {
 public:
  static constexpr size_t kWindows = 48;

  // Images [first, end) of an answer, into the window that is filling.
  void add(const StreamAnswer& answer, size_t first = 0);
  void add_latency(double seconds);

  // What a screen made of images that are added, if there is one.
  void add(const Screening& screening);

  // Ends the window. `end` says how: learnt, guard, update_seconds, distance;
  // `verdicts` are those of all its images.
  const WindowFigures& close(const WindowFigures& end,
                             const std::vector<Verdict>& verdicts);

  // Images since the last window's end.
  int64_t filling() const { return current_.images; }

  // Labels of the same images by the stream's network and by the source model.
  void compare(const std::vector<int64_t>& labels,
               const std::vector<int64_t>& source_labels);

  // Without a window: after a reset, say.
  void set_distance(double distance) { summary_.distance = distance; }

  const std::deque<WindowFigures>& windows() const { return windows_; }
  const LiveSummary& summary() const { return summary_; }

  // Weight of each class among predictions. Older windows weigh less: each one
  // kFading times what the next does. Empty before the first image.
  const std::vector<float>& classes() const { return classes_; }
  static constexpr float kFading = 0.9F;

  // Of the images of compare() alone, faded likewise.
  struct Comparison {
    int64_t images = 0;            // compared so far
    float total = 0, agreed = 0;   // weights
    std::vector<float> own;        // by the stream's network
    std::vector<float> by_source;  // by the source model
  };
  const Comparison& comparison() const { return comparison_; }

 private:
  void summarise();

  std::deque<WindowFigures> windows_;
  WindowFigures current_;       // sums, not means
  std::vector<float> classes_;  // the current window's have weight 1
  Comparison comparison_;
  LiveSummary summary_;
};

}  // namespace sotta
