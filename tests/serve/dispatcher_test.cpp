#include "serve/streams/dispatcher.h"

#include <atomic>
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "tests/serve/expect_refusal.h"

namespace sotta {
namespace {

using testing::expect_refusal;

// A worker that is kept waiting, so that a test decides what waits behind it.
class Gate {
 public:
  explicit Gate(Dispatcher& dispatcher) {
    std::promise<void> entered;
    auto waiting = entered.get_future();
    dispatcher.post("gate", [this, &entered] {
      entered.set_value();
      opened_.get_future().wait();
    });
    waiting.wait();
  }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> opened_;
};

DispatcherOptions one_worker() {
  DispatcherOptions options;
  options.workers = 1;
  return options;
}

TEST(Dispatcher, KeysTakeTurnsAndEachKeepsItsOrder) {
  Dispatcher dispatcher(one_worker());
  std::string order;
  Gate gate(dispatcher);
  for (const std::string task : {"a1", "a2", "a3", "b1", "c1", "b2"})
    dispatcher.post(task.substr(0, 1), [&order, task] { order += task + " "; });

  gate.open();
  dispatcher.finish();

  EXPECT_EQ(order, "a1 b1 c1 a2 b2 a3 ");
}

TEST(Dispatcher, FollowUpsRunWhenNoTaskIsWaiting) {
  Dispatcher dispatcher(one_worker());
  std::string order;
  Gate gate(dispatcher);
  dispatcher.post_follow_up("a", [&] { order += "update "; });
  dispatcher.post("b", [&] { order += "b "; });
  dispatcher.post("a", [&] { order += "a "; });

  gate.open();
  dispatcher.finish();

  EXPECT_EQ(order, "b a update ");
}

TEST(Dispatcher, OfTwoFollowUpsTheLaterCounts) {
  Dispatcher dispatcher(one_worker());
  std::string order;
  Gate gate(dispatcher);
  dispatcher.post_follow_up("a", [&] { order += "first "; });
  dispatcher.post_follow_up("a", [&] { order += "second "; });

  gate.open();
  dispatcher.finish();

  EXPECT_EQ(order, "second ");
}

TEST(Dispatcher, TasksUnderOneKeyNeverRunAtOnce) {
  DispatcherOptions options;
  options.workers = 4;
  Dispatcher dispatcher(options);
  std::atomic<int> inside{0}, most{0}, done{0};

  for (int i = 0; i < 200; ++i) {
    const auto task = [&] {
      most = std::max(most.load(), ++inside);
      ++done;
      --inside;
    };
    if (i % 10 == 0)
      dispatcher.post_follow_up("a", task);
    else
      dispatcher.post("a", task);
  }
  dispatcher.finish();

  EXPECT_EQ(most, 1);
  EXPECT_GE(done, 180);
}

TEST(Dispatcher, TooManyWaitingTasksAreRefused) {
  DispatcherOptions options = one_worker();
  options.max_waiting = 3;
  options.max_waiting_of_one = 2;
  Dispatcher dispatcher(options);
  int done = 0;
  Gate gate(dispatcher);
  const auto task = [&] { ++done; };
  dispatcher.post("a", task);
  dispatcher.post("a", task);

  expect_refusal(HttpStatus::kTooMany, "too many",
                 [&] { dispatcher.post("a", task); });
  dispatcher.post("b", task);
  expect_refusal(HttpStatus::kTooMany, "too many",
                 [&] { dispatcher.post("c", task); });
  dispatcher.post_next("c", task);
  expect_refusal(HttpStatus::kTooMany, "too many",
                 [&] { dispatcher.post_next("a", task); });
  EXPECT_EQ(dispatcher.waiting(), 4u);

  gate.open();
  dispatcher.finish();
  EXPECT_EQ(done, 4);
}

TEST(Dispatcher, ANextStepRunsAtOnceWhereNothingWaits) {
  Dispatcher dispatcher(one_worker());
  std::string order;
  dispatcher.post("1", [&] {
    order += "read ";
    dispatcher.run_next("a", [&] { order += "a "; });
    order += "end ";
  });

  dispatcher.finish();

  EXPECT_EQ(order, "read a end ");
}

TEST(Dispatcher, ANextStepWaitsForItsTurnWhereOthersWait) {
  Dispatcher dispatcher(one_worker());
  std::string order;
  Gate gate(dispatcher);
  const auto read = [&](const std::string& key) {
    return [&, key] {
      order += "read ";
      dispatcher.run_next(key, [&, key] { order += key + " "; });
    };
  };
  dispatcher.post("b", [&] { order += "first "; });
  dispatcher.post("1", read("a"));
  dispatcher.post("b", [&] { order += "second "; });
  dispatcher.post("2", read("b"));
  dispatcher.post("3", read("c"));

  gate.open();
  dispatcher.finish();

  EXPECT_EQ(order, "first read read read second a c b ");
}

TEST(Dispatcher, AfterItHasFinishedNothingIsTaken) {
  Dispatcher dispatcher(one_worker());
  dispatcher.finish();

  expect_refusal(HttpStatus::kUnavailable, "shutting down",
                 [&] { dispatcher.post("a", [] {}); });
}

TEST(Dispatcher, EveryWorkerIsPrepared) {
  std::atomic<int> prepared{0};
  DispatcherOptions options;
  options.workers = 3;
  options.prepare_thread = [&] { ++prepared; };

  { Dispatcher dispatcher(options); }

  EXPECT_EQ(prepared, 3);
}

}  // namespace
}  // namespace sotta
