// Answers of a StreamTable that wait for no update.
#include <atomic>
#include <thread>

#include "serve/request_error.h"
#include "serve/streams/state_store.h"
#include "serve/streams/stream_table.h"
#include "tests/serve/expect_refusal.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::expect_refusal;
using testing::expect_same_state;
using testing::kSmallWindow;
using testing::small_requests;
using testing::TempDir;

std::unique_ptr<ServedStream> open_small(
    std::unique_ptr<StreamStorage> storage) {
  ServedStreamOptions options;
  options.identity = "small";
  options.save_interval = kSmallWindow;
  return std::make_unique<ServedStream>(testing::small_adapter("sotta"),
                                        std::move(storage), options);
}

// A table whose streams are at most `windows` behind.
struct PromptTable {
  explicit PromptTable(int64_t windows = 2, int64_t resident = 8,
                       size_t ahead = 1000)
      : table(store, "m", open_small,
              {100, resident, windows * kSmallWindow, ahead}) {}

  InferResult infer(const StreamRequest& request,
                    const std::string& name = "a") {
    return table.infer(name, request).result;
  }

  // Waits for what is to be learnt.
  StreamState state(const std::string& name = "a") {
    StreamState state;
    table.use(name, false, [&](ServedStream& stream) {
      stream.finish();
      state = stream.state();
    });
    return state;
  }

  TempDir folder;
  StateStore store{folder.path()};
  StreamTable table;
};

StreamState strict_state(const std::vector<StreamRequest>& requests) {
  const TempDir folder;
  const auto stream =
      open_small(std::make_unique<StreamFolder>(folder / "strict"));
  for (const StreamRequest& request : requests)
    stream->infer(request);
  stream->finish();
  return stream->state();
}

TEST(PromptAnswers, AnAnswerDoesNotWaitForTheUpdateThatIsDue) {
  PromptTable prompt;
  const auto requests = small_requests({kSmallWindow, 4}, 20);

  const auto first = prompt.table.infer("a", requests[0]);
  const auto ahead = prompt.table.infer("a", requests[1]);

  EXPECT_TRUE(first.has_work);
  EXPECT_TRUE(ahead.has_work);
  EXPECT_EQ(ahead.result.answer.updates, 0);
  EXPECT_EQ(ahead.result.next_seq, 2);
  EXPECT_EQ(ahead.result.durable_seq, 0);
  EXPECT_EQ(ahead.result.answer.verdicts,
            std::vector<Verdict>(4, Verdict::kPending));

  prompt.table.finish("a");
  const StreamStatus status = prompt.table.list("", 1).at(0).status;
  EXPECT_EQ(status.updates, 1);
  EXPECT_EQ(status.next_seq, 2);
  EXPECT_EQ(status.durable_seq, 1);
  EXPECT_EQ(status.pending, 4);
}

TEST(PromptAnswers, WhereNothingIsSkippedTheyLearnWhatStrictOnesDo) {
  PromptTable prompt(/*windows=*/100);
  const auto requests = small_requests({5, 9, 40, 1}, 160);

  for (const StreamRequest& request : requests)
    prompt.infer(request);

  expect_same_state(prompt.state().adapter, strict_state(requests).adapter);
  EXPECT_EQ(prompt.state().skipped, 0);
}

TEST(PromptAnswers, WithoutWorkInBetweenTheyAreTheStrictOnes) {
  PromptTable prompt;
  const TempDir folder;
  const auto strict =
      open_small(std::make_unique<StreamFolder>(folder / "strict"));

  for (const StreamRequest& request : small_requests({4}, 48)) {
    const InferResult found = prompt.infer(request);
    prompt.table.finish("a");
    EXPECT_TRUE(found.answer == strict->infer(request).answer);
  }
}

TEST(PromptAnswers, ImagesBeyondTheLimitAreSkippedAndCounted) {
  PromptTable prompt(/*windows=*/2);
  const auto requests = small_requests({kSmallWindow}, 5 * kSmallWindow);

  std::vector<int64_t> skipped;
  for (const StreamRequest& request : requests)
    skipped.push_back(prompt.infer(request).skipped);

  EXPECT_EQ(skipped, (std::vector<int64_t>{0, 0, 16, 32, 48}));
  EXPECT_EQ(prompt.table.skipped(), 48);
  const StreamState state = prompt.state();
  EXPECT_EQ(state.skipped, 48);
  EXPECT_EQ(state.next_seq, 5);
  expect_same_state(state.adapter,
                    strict_state({requests[0], requests[1]}).adapter);
}

TEST(PromptAnswers, PixelsWaitOnlyWhereSomethingIsLearntFromThem) {
  PromptTable prompt(/*windows=*/2);
  auto requests = small_requests({kSmallWindow}, 4 * kSmallWindow);
  requests[2].adapt = false;

  for (const StreamRequest& request : requests)
    prompt.infer(request);

  EXPECT_EQ(prompt.table.skipped(), kSmallWindow);
  std::vector<size_t> owners;
  for (const StreamRequest& request : requests)
    owners.push_back(request.images.use_count());
  EXPECT_EQ(owners[2], 1) << "not to be learnt from";
  EXPECT_EQ(owners[3], 1) << "skipped";
  EXPECT_GT(owners[1], 1) << "to be learnt from";
}

TEST(PromptAnswers, ImagesThatAreNotLearntFromKeepNoPlace) {
  PromptTable prompt(/*windows=*/2);
  auto requests = small_requests({kSmallWindow}, 5 * kSmallWindow);
  for (const size_t answered : {1, 2, 3})
    requests[answered].adapt = false;

  for (const StreamRequest& request : requests)
    EXPECT_EQ(prompt.infer(request).skipped, 0);

  EXPECT_EQ(prompt.state().skipped, 0);
}

// They take memory, too: a disk that hangs does not fill it.
TEST(PromptAnswers, ARequestWaitsWhereTooManyAreAhead) {
  PromptTable prompt(/*windows=*/2, /*resident=*/8, /*ahead=*/3);
  auto requests =
      small_requests({kSmallWindow, 1, 1, 1, 1, 1}, kSmallWindow + 5);
  for (size_t i = 1; i < requests.size(); ++i)
    requests[i].adapt = false;

  std::vector<int64_t> updates;
  for (const StreamRequest& request : requests)
    updates.push_back(prompt.infer(request).answer.updates);

  EXPECT_EQ(updates, (std::vector<int64_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(prompt.state().next_seq, 6);
}

TEST(PromptAnswers, TheirLatencyCountsToo) {
  PromptTable prompt;
  const auto requests = small_requests({kSmallWindow}, 2 * kSmallWindow);
  for (const StreamRequest& request : requests)
    prompt.table.infer("a", request, [] { return 0.25; });

  prompt.table.finish("a");

  const auto listed = prompt.table.list("", 1);
  EXPECT_EQ(listed.at(0).status.live.windows, 2);
  EXPECT_EQ(listed.at(0).status.live.latency, 0.25);
  prompt.table.use("a", false, [](ServedStream& stream) {
    EXPECT_EQ(stream.watch().figures().windows().back().requests, 1);
  });
}

TEST(PromptAnswers, AFrozenStreamSkipsNothing) {
  PromptTable prompt(/*windows=*/1);
  const auto requests = small_requests({kSmallWindow}, 4 * kSmallWindow);
  prompt.table.use("a", true,
                   [](ServedStream& stream) { stream.set_frozen(true); });

  for (const StreamRequest& request : requests)
    EXPECT_EQ(prompt.infer(request).skipped, 0);

  EXPECT_EQ(prompt.state().next_seq, 4);
}

TEST(PromptAnswers, ARepeatedRequestGetsTheAnswerItGot) {
  PromptTable prompt;
  const auto requests = small_requests({kSmallWindow, 3}, 19);
  prompt.infer(requests[0]);
  const InferResult ahead = prompt.infer(requests[1]);

  EXPECT_TRUE(prompt.infer(requests[1]).answer == ahead.answer);
  EXPECT_EQ(prompt.state().next_seq, 2);
}

TEST(PromptAnswers, RequestsOutOfTurnAndOfAnotherSizeAreRefused) {
  PromptTable prompt;
  const auto requests = small_requests({kSmallWindow, 3}, 22);
  prompt.infer(requests[0]);
  StreamRequest later = requests[1];
  later.seq = 5;
  StreamRequest narrow = requests[1];
  narrow.images = narrow.images.narrow(2, 0, 5).contiguous();

  expect_refusal(HttpStatus::kConflict, "expected 1, got 5",
                 [&] { prompt.infer(later); });
  expect_refusal(HttpStatus::kBadRequest, "as before in this stream",
                 [&] { prompt.infer(narrow); });
  EXPECT_EQ(prompt.infer(requests[1]).next_seq, 2);
}

TEST(PromptAnswers, ACommandComesAfterTheRequestsBeforeIt) {
  PromptTable prompt;
  const auto requests = small_requests({kSmallWindow, 3}, 22);
  prompt.infer(requests[0]);
  prompt.infer(requests[1]);

  prompt.table.use("a", false, [](ServedStream& stream) {
    EXPECT_EQ(stream.status().next_seq, 2);
    stream.reset();
  });

  EXPECT_EQ(prompt.state().next_seq, 2);
  EXPECT_EQ(prompt.table.list("", 1).at(0).status.updates, 0);
  EXPECT_EQ(prompt.infer(requests[2]).answer.updates, 0);
}

TEST(PromptAnswers, AfterACrashAStreamGoesOnFromWhatItHasLearnt) {
  TempDir folder;
  const auto requests = small_requests({kSmallWindow, 3}, 60);
  {
    const StateStore store(folder.path());
    StreamTable table(store, "m", open_small, {100, 8, 1000});
    table.infer("a", requests[0]);
    table.finish("a");
    table.infer("a", requests[1]);
    for (int i = 2; i < 4; ++i)
      table.infer("a", requests[static_cast<size_t>(i)]);
  }
  const StateStore store(folder.path());
  StreamTable table(store, "m", open_small, {100, 8, 1000});
  table.use("a", false, [](ServedStream& stream) {
    EXPECT_EQ(stream.status().next_seq, 1);
    EXPECT_EQ(stream.status().durable_seq, 1);
  });

  for (size_t i = 1; i < requests.size(); ++i)
    table.infer("a", requests[i]);

  StreamState state;
  table.use("a", false, [&](ServedStream& stream) {
    stream.finish();
    state = stream.state();
  });
  expect_same_state(state.adapter, strict_state(requests).adapter);
}

TEST(PromptAnswers, AStreamThatLeavesTheMemoryHasLearntAll) {
  PromptTable prompt(/*windows=*/100, /*resident=*/1);
  const auto requests = small_requests({kSmallWindow, 3}, 60);

  for (const StreamRequest& request : requests)
    for (const std::string name : {"a", "b"})
      prompt.infer(request, name);

  for (const std::string name : {"a", "b"})
    expect_same_state(prompt.state(name).adapter,
                      strict_state(requests).adapter);
  prompt.table.infer("a", {std::nullopt, true, false, requests[0].images});
  EXPECT_TRUE(prompt.table.park("a"));
}

// Learners, requests and streams that push each other out of memory, all at
// once.
TEST(PromptAnswers, BesideUpdatesEveryRequestIsLearntFromOnce) {
  PromptTable prompt(/*windows=*/1000, /*resident=*/4);
  const auto requests = small_requests({7, 1, 12}, 200);
  const std::vector<std::string> names = {"a", "b", "c"};
  std::atomic<bool> done{false};
  std::thread learner([&] {
    while (!done)
      for (const std::string& name : names)
        prompt.table.finish(name);
  });
  std::thread visitor([&] {
    for (int i = 0; !done; ++i)
      prompt.table.use("visit" + std::to_string(i % 6), true,
                       [](ServedStream&) {});
  });
  std::vector<std::thread> clients;
  for (const std::string& name : names)
    clients.emplace_back([&prompt, &requests, name] {
      for (const StreamRequest& request : requests)
        EXPECT_EQ(prompt.infer(request, name).next_seq, *request.seq + 1);
    });
  for (std::thread& client : clients)
    client.join();
  done = true;
  learner.join();
  visitor.join();

  for (const std::string& name : names)
    expect_same_state(prompt.state(name).adapter,
                      strict_state(requests).adapter);
}

}  // namespace
}  // namespace sotta
