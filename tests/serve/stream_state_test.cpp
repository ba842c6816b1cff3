#include "serve/streams/stream_state.h"

#include <limits>

#include <ATen/ops/arange.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

StreamState example() {
  StreamState state;
  state.identity = "model, method";
  state.adapter.method = "tent";
  state.adapter.tensors["a"] = at::arange(4, at::kFloat);
  state.adapter.tensors["b"] = at::arange(3, at::kLong);
  state.next_seq = 7;
  state.frozen = true;
  state.guard = "rolled back";
  state.guard_trips = 2;
  StreamAnswer answer;
  answer.seq = 6;
  answer.classes = 1;
  answer.logits = answer.confidences = {0.5f};
  answer.labels = {0};
  answer.verdicts = {Verdict::kAdmitted};
  state.answers.add(answer);
  return state;
}

StreamState parse(const std::string& bytes) {
  return to_stream_state(
      parse_safetensors(reinterpret_cast<const std::byte*>(bytes.data()),
                        bytes.size(), "test"),
      "test");
}

TEST(StreamState, ComesBackFromItsBytes) {
  const StreamState state = example();
  const std::string bytes = safetensors_bytes(to_tensor_file(state), "test");

  const StreamState back = parse(bytes);

  EXPECT_EQ(back.identity, state.identity);
  EXPECT_EQ(back.adapter.method, "tent");
  EXPECT_TRUE(
      back.adapter.tensors.at("b").equal(state.adapter.tensors.at("b")));
  EXPECT_EQ(back.adapter.tensors.size(), 2u);
  EXPECT_EQ(back.next_seq, 7);
  EXPECT_TRUE(back.frozen);
  EXPECT_EQ(back.guard, "rolled back");
  EXPECT_EQ(back.guard_trips, 2);
  EXPECT_EQ(back.answers.pack(), state.answers.pack());
  EXPECT_EQ(safetensors_bytes(to_tensor_file(back), "test"), bytes);
}

TEST(StreamState, ASummaryTellsWhetherTheAdaptersStateIsAnother) {
  StreamState state = example();
  state.progress = StreamProgress{64, 3, 1};
  const StateSummary summary = summary_of(to_tensor_file(state), "test");
  EXPECT_EQ(summary.next_seq, 7);
  EXPECT_TRUE(summary.frozen);
  EXPECT_EQ(summary.progress->updates, 3);

  state.next_seq = 9;
  state.frozen = false;
  state.answers = AnswerLog();
  EXPECT_EQ(summary_of(to_tensor_file(state), "test").adapter, summary.adapter);

  state.adapter.tensors["a"] = at::arange(1, 5, at::kFloat);
  EXPECT_NE(summary_of(to_tensor_file(state), "test").adapter, summary.adapter);
}

TEST(StreamState, AChangeOfAnyByteIsNoticed) {
  const std::string whole =
      safetensors_bytes(to_tensor_file(example()), "test");

  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    // A space of the header may become another character that says nothing.
    try {
      const StreamState state = parse(damaged);
      EXPECT_EQ(safetensors_bytes(to_tensor_file(state), "test"), whole) << at;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::kInvalid) << error.what();
    }
  }
}

TEST(StreamState, ATruncationIsNoticed) {
  const std::string whole =
      safetensors_bytes(to_tensor_file(example()), "test");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(parse(whole.substr(0, size)), Error) << size;
}

// A client may have made it, with a checksum that fits. What is counted on from
// the largest number, and answers in no order, could not be read again.
TEST(StreamState, WhatCouldNotGoOnIsRefused) {
  for (int64_t StreamState::*count :
       {&StreamState::next_seq, &StreamState::guard_trips,
        &StreamState::skipped}) {
    StreamState state = example();
    state.*count = std::numeric_limits<int64_t>::max() - 1;
    testing::expect_error(ErrorKind::kBadFormat, "to be counted on from", [&] {
      to_stream_state(to_tensor_file(state), "test");
    });
  }
  StreamState state = example();
  state.next_seq = 6;  // its last answer's
  testing::expect_error(
      ErrorKind::kBadFormat, "answers to requests before next_seq",
      [&] { to_stream_state(to_tensor_file(state), "test"); });
}

TEST(StreamState, AnotherSafetensorsFileIsNone) {
  TensorFile file;
  testing::expect_error(ErrorKind::kBadFormat, "found no \"format\"",
                        [&] { to_stream_state(file, "test"); });

  file.metadata["format"] = "sotta stream 9";
  testing::expect_error(ErrorKind::kBadFormat, "sotta stream 1",
                        [&] { to_stream_state(file, "test"); });
}

}  // namespace
}  // namespace sotta
