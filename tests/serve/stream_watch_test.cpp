#include "serve/streams/stream_watch.h"

#include <cmath>
#include <new>
#include <stdexcept>

#include <ATen/ops/full_like.h>

#include "serve/streams/state_store.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::kSmallWindow;
using testing::small_adapter;
using testing::small_requests;
using testing::TempDir;

// A stream, and the names of the events that it tells.
struct Watched {
  TempDir folder;
  std::vector<std::string> events;
  std::vector<int64_t> compared;  // images, each time
  GuardOptions guard = {};
  bool journal = false;

  std::unique_ptr<ServedStream> open() {
    ServedStreamOptions options;
    options.journal = journal;
    options.save_interval = kSmallWindow;
    options.watch.window = kSmallWindow;
    options.watch.observer = [this](const StreamEvent& event) {
      events.push_back(to_text(event.kind) +
                       (event.detail.empty() ? "" : " " + event.detail));
    };
    options.watch.source_labels = [this](const at::Tensor& images) {
      compared.push_back(images.size(0));
      return std::vector<int64_t>(static_cast<size_t>(images.size(0)), 1);
    };
    return std::make_unique<ServedStream>(
        small_adapter("sotta", guard),
        std::make_unique<StreamFolder>(folder / "s"), options);
  }
};

void send(ServedStream& stream, const std::vector<StreamRequest>& requests) {
  for (StreamRequest request : requests) {
    request.seq.reset();
    stream.infer(request);
    stream.finish();
  }
}

TEST(StreamWatch, EveryWindowIsAnEventAndAFigure) {
  Watched watched;
  const auto stream = watched.open();

  send(*stream, small_requests({5, 3 * kSmallWindow, 11}, 4 * kSmallWindow));

  EXPECT_EQ(watched.events, std::vector<std::string>(4, "window"));
  const LiveFigures& figures = stream->watch().figures();
  ASSERT_EQ(figures.windows().size(), 4u);
  for (const WindowFigures& window : figures.windows()) {
    EXPECT_EQ(window.images, kSmallWindow);
    EXPECT_TRUE(window.learnt);
    EXPECT_GT(window.confidence, 0);
  }
  EXPECT_GT(figures.summary().distance, 0);
  EXPECT_EQ(stream->status().live.windows, 4);
}

TEST(StreamWatch, WindowsGoOnWhereNothingIsLearnt) {
  Watched watched;
  const auto stream = watched.open();
  stream->set_frozen(true);

  send(*stream, small_requests({10}, 2 * kSmallWindow));

  EXPECT_EQ(watched.events, (std::vector<std::string>{"freeze", "window"}));
  const WindowFigures& window = stream->watch().figures().windows().back();
  EXPECT_FALSE(window.learnt);
  EXPECT_EQ(window.verdicts[static_cast<size_t>(Verdict::kNotScreened)], 20);
}

TEST(StreamWatch, CommandsAreEventsAndTheDistanceFollowsThem) {
  Watched watched;
  const auto stream = watched.open();
  send(*stream, small_requests({kSmallWindow}, kSmallWindow));
  const double distance = stream->status().live.distance;
  stream->keep_snapshot();
  stream->reset();
  EXPECT_EQ(stream->status().live.distance, 0);

  stream->roll_back(2);

  EXPECT_EQ(stream->status().live.distance, distance);
  stream->set_frozen(false);  // it is not frozen: nothing happens
  EXPECT_EQ(watched.events, (std::vector<std::string>{"window", "snapshot 2",
                                                      "reset", "rollback 2"}));
}

TEST(StreamWatch, ARuinedNetworkIsFarFromTheSource) {
  for (const double value : {1e30, HUGE_VAL, std::nan("")}) {
    Watched watched;
    const auto stream = watched.open();
    StreamState state = stream->state();
    state.adapter.tensors.at("affine") =
        at::full_like(state.adapter.tensors.at("affine"), value);

    stream->replace_state(state);

    const double distance = stream->status().live.distance;
    EXPECT_GT(distance, 1e30) << value;
    EXPECT_TRUE(std::isfinite(distance)) << value;
  }
}

TEST(StreamWatch, AGuardThatTripsIsAnEventWithItsWords) {
  Watched watched;
  watched.guard.action = "skip";
  watched.guard.max_parameter_change = 1e-9;
  const auto stream = watched.open();

  send(*stream, small_requests({kSmallWindow}, kSmallWindow));

  ASSERT_EQ(watched.events.size(), 2u);
  EXPECT_EQ(watched.events[0], "window");
  EXPECT_NE(watched.events[1].find("guard "), std::string::npos);
  EXPECT_TRUE(stream->watch().figures().windows().back().guard);
  EXPECT_EQ(stream->status().live.guard_trips, 1);
}

TEST(StreamWatch, TheSourceModelSeesSomeImagesOfSomeWindows) {
  Watched watched;
  const auto stream = watched.open();

  send(*stream, small_requests({10, 6}, 5 * kSmallWindow));

  EXPECT_EQ(watched.compared, (std::vector<int64_t>{6, 6}));
  EXPECT_EQ(stream->watch().figures().comparison().images, 12);
}

TEST(StreamWatch, ASourceModelThatFailsDoesNotStopTheStream) {
  WatchOptions options;
  options.source_labels = [](const at::Tensor&) -> std::vector<int64_t> {
    throw std::bad_alloc();
  };
  StreamWatch watch(options);
  const auto adapter = small_adapter("sotta");
  StreamAnswer answer;
  answer.classes = 1;
  answer.labels = {0};
  answer.confidences = answer.logits = {1.0F};
  watch.observed(answer, testing::golden_stream().slice(0, 0, 1), true);

  watch.learnt(*adapter, UpdateReport(), 0);

  EXPECT_EQ(watch.figures().summary().windows, 1);
  EXPECT_EQ(watch.figures().comparison().images, 0);
}

// A journal that is repeated after a crash was news before it.
TEST(StreamWatch, WhatIsRepeatedFromAJournalIsNoNews) {
  Watched watched;
  watched.journal = true;
  {
    const auto stream = watched.open();
    const auto requests = small_requests({kSmallWindow / 2}, kSmallWindow);
    for (const StreamRequest& request : requests)
      stream->infer(request);
  }
  watched.events.clear();

  const auto again = watched.open();

  EXPECT_EQ(again->status().updates, 1);
  EXPECT_TRUE(watched.events.empty());
}

}  // namespace
}  // namespace sotta
