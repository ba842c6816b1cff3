#include <new>

#include <gtest/gtest.h>

#include "serve/streams/served_stream.h"
#include "serve/streams/state_store.h"
#include "tests/adapt/failing_classifier.h"
#include "tests/adapt/scripted_method.h"
#include "tests/serve/small_service.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::expect_same_state;
using testing::kSmallWindow;
using testing::ScriptedMethod;
using testing::small_requests;
using testing::TempDir;

// A stream for whose updates from `first` to before `end` there is no memory.
// Each has changed the method by then.
std::unique_ptr<ServedStream> open_failing(const std::filesystem::path& folder,
                                           int64_t first, int64_t end) {
  MethodContext context;
  context.model = testing::golden_network();
  context.update_interval = kSmallWindow;
  auto method = std::make_unique<ScriptedMethod>();
  method->script = [first, end, turn = int64_t{0}](UpdateReport&,
                                                   int64_t) mutable {
    const int64_t now = turn++;
    if (first <= now && now < end) throw std::bad_alloc();
  };
  ServedStreamOptions options;
  options.identity = "scripted";
  return std::make_unique<ServedStream>(
      std::make_unique<Adapter>("scripted", std::move(method), context),
      std::make_unique<StreamFolder>(folder), options);
}

TEST(FailingMemory, ARequestOfManyWindowsIsLearntFromWholeOrNotAtAll) {
  const TempDir folder;
  const auto request = small_requests({4 * kSmallWindow}, 4 * kSmallWindow)[0];
  const auto quiet = open_failing(folder / "quiet", 0, 0);
  const auto stream = open_failing(folder / "s", 1, 2);
  const Snapshot before = stream->state().adapter;

  EXPECT_THROW(stream->infer(request), std::bad_alloc);
  EXPECT_EQ(stream->status().next_seq, 0);
  expect_same_state(stream->state().adapter, before);

  EXPECT_TRUE(stream->infer(request).answer == quiet->infer(request).answer);
  expect_same_state(stream->state().adapter, quiet->state().adapter);
}

TEST(FailingMemory, WhileAnUpdateFailsRequestsAreAnsweredAndNotCounted) {
  const TempDir folder;
  const auto requests = small_requests({kSmallWindow}, 3 * kSmallWindow);
  const auto quiet = open_failing(folder / "quiet", 0, 0);
  const auto stream = open_failing(folder / "s", 0, 2);
  stream->infer(requests[0]);

  stream->finish();
  const InferResult frozen = stream->infer(requests[1]);

  EXPECT_EQ(frozen.next_seq, 1);
  EXPECT_NE(frozen.frozen.find("an update failed"), std::string::npos)
      << frozen.frozen;

  for (size_t i = 1; i < 3; ++i)
    EXPECT_EQ(stream->infer(requests[i]).frozen, "");
  for (const StreamRequest& request : requests)
    quiet->infer(request);
  EXPECT_EQ(stream->status().updates, 2);
  expect_same_state(stream->state().adapter, quiet->state().adapter);
}

TEST(FailingMemory, AnUpdateThatFailedIsMadeUpForAfterARestart) {
  const TempDir folder;
  const auto requests = small_requests({kSmallWindow}, kSmallWindow);
  {
    const auto stream = open_failing(folder / "s", 0, 9);
    stream->infer(requests[0]);
    EXPECT_TRUE(stream->save_all());
  }

  const auto stream = open_failing(folder / "s", 0, 0);

  EXPECT_EQ(stream->status().updates, 1);
  EXPECT_EQ(stream->status().durable_seq, 1);
}

// The source model is asked once the method has taken the images.
TEST(FailingMemory, AFloorsLookThatFailsLeavesNothingOfItsRequest) {
  const auto network = std::make_shared<testing::FailingClassifier>(
      make_classifier(testing::Golden("methods/network").file(), {}, "tiny"));
  ModelSettings settings = testing::small_model();
  settings.network = network;
  settings.method = "tent";
  settings.changes = {};
  settings.guard.action = "floor";
  const TempDir folder;
  const StateStore store(folder.path());
  ServedModel model(settings, store);
  const auto state = [&] {
    Snapshot snapshot;
    model.streams().use("s", /*create=*/false, [&](ServedStream& stream) {
      snapshot = stream.state().adapter;
    });
    return snapshot;
  };
  const auto requests = small_requests({5}, 10);
  model.streams().infer("s", requests[0]);
  const Snapshot before = state();

  network->fails = 2;
  EXPECT_THROW(model.streams().infer("s", requests[1]), std::bad_alloc);
  expect_same_state(state(), before);
  EXPECT_EQ(model.streams().infer("s", requests[1]).result.next_seq, 2);
}

// For whose states there is no memory while `full`.
struct UnsavableMethod : ScriptedMethod {
  explicit UnsavableMethod(const bool& is_full) : full(is_full) {}
  void exchange(StateArchive& archive) override {
    if (full) throw std::bad_alloc();
    ScriptedMethod::exchange(archive);
  }
  const bool& full;
};

TEST(FailingMemory, ARequestThatIsLearntFromAndCannotBeSavedIsAnswered) {
  const TempDir folder;
  const auto requests = small_requests({3}, 6);
  bool full = false;
  MethodContext context;
  context.model = testing::golden_network();
  context.update_interval = kSmallWindow;
  ServedStreamOptions options;
  options.journal = true;
  ServedStream stream(
      std::make_unique<Adapter>(
          "scripted", std::make_unique<UnsavableMethod>(full), context),
      std::make_unique<StreamFolder>(folder / "s"), options);

  full = true;
  const InferResult first = stream.infer(requests[0]);
  EXPECT_EQ(first.next_seq, 1);
  EXPECT_EQ(first.durable_seq, 0);
  EXPECT_NE(first.frozen, "");

  full = false;
  const InferResult second = stream.infer(requests[1]);
  EXPECT_EQ(second.next_seq, 2);
  EXPECT_EQ(second.durable_seq, 2);
  EXPECT_EQ(second.frozen, "");
}

}  // namespace
}  // namespace sotta
