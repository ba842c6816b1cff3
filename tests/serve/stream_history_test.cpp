// What a stream can go back to.
#include "serve/streams/served_stream.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::expect_same_state;
using testing::kSmallWindow;
using testing::small_requests;
using testing::SmallStream;
using testing::TempDir;

void send(ServedStream& stream, const std::vector<StreamRequest>& requests,
          size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    stream.infer(requests[i]);
    stream.finish();
  }
}

TEST(StreamHistory, FreezingAndThawingLeaveAnEarlierStateToGoBackTo) {
  for (const bool journal : {false, true}) {
    const TempDir folder;
    const auto stream = SmallStream{folder / "s", "sotta", journal}.open();
    const auto requests = small_requests({kSmallWindow}, 5 * kSmallWindow);
    send(*stream, requests, 0, 2);
    const Snapshot wanted = stream->state().adapter;
    send(*stream, requests, 2, 3);

    for (int turn = 0; turn < 3; ++turn) {
      stream->set_frozen(true);
      send(*stream, {requests[3]}, 0, turn == 0 ? 1 : 0);
      stream->set_frozen(false);
    }

    const auto found = stream->snapshots();
    EXPECT_EQ(found.front().updates, 2);
    stream->roll_back(found.front().number);
    expect_same_state(stream->state().adapter, wanted);
  }
}

TEST(StreamHistory, WhatAResetOrARollbackLeftCanBeGoneBackTo) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto requests = small_requests({kSmallWindow, 3}, 96);
  send(*stream, requests, 0, 2);  // with a part of the next window
  const Snapshot left = stream->state().adapter;

  stream->reset();
  const int64_t number = stream->status().snapshot - 1;
  send(*stream, requests, 2, 8);
  stream->roll_back(number);

  expect_same_state(stream->state().adapter, left);
  EXPECT_EQ(stream->status().next_seq, 8);
  const auto reopened = SmallStream{folder / "s"}.open();
  expect_same_state(reopened->state().adapter, left);
}

}  // namespace
}  // namespace sotta
