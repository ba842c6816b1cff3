// What guards remember, through snapshots, restored states and resets.

#include <cmath>

#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include "sotta/adapt/adapter.h"
#include "sotta/core/error.h"

#include "tests/adapt/guarded.h"

namespace sotta {
namespace {

using testing::Guarded;
using testing::scalar;
using testing::with_action;

TEST(Guard, RollsBackToARestoredStateAndNotToTheSource) {
  Guarded first(with_action("off"));
  for (int i = 0; i < 5; ++i)
    first.window();
  Guarded second(with_action("rollback"));
  second.adapter->restore(first.adapter->snapshot());
  second.method->report.loss = scalar(std::nan(""));
  EXPECT_EQ(second.window().guard, "loss is not finite; rollback");
  EXPECT_EQ(second.value(), 5);
}

// Of an adapter without guards, or of a version that kept no history.
TEST(Guard, HistoryStartsAfreshAfterASnapshotWithoutOne) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded unguarded(with_action("off")), guarded(options);
  unguarded.window();
  guarded.window();
  guarded.adapter->restore(unguarded.adapter->snapshot());
  EXPECT_EQ(guarded.window().guard, "");
  EXPECT_NE(guarded.window().guard, "");
}

TEST(Guard, HistoryGoesOnFromASnapshotWithOne) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded first(options), second(options);
  first.window();
  second.adapter->restore(first.adapter->snapshot());
  EXPECT_NE(second.window().guard, "");
}

// The good snapshot is that after the second window, the restored state that
// after the third.
TEST(Guard, RollsBackToAGoodSnapshotFromBeforeARestore) {
  Guarded first(with_action("rollback")), second(with_action("rollback"));
  for (int i = 0; i < 3; ++i)
    first.window();
  second.adapter->restore(first.adapter->snapshot());
  EXPECT_EQ(second.value(), 3);
  second.method->report.loss = scalar(std::nan(""));
  second.window();
  EXPECT_EQ(second.value(), 2);
}

// One window and the half of another, all of class 0; the other half of class 1
// leaves class 0 a share of three quarters.
TEST(Guard, TheBeginningOfAWindowIsPartOfTheHistory) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.7;
  Guarded first(options), second(options);
  first.adapter->step(at::rand({3, 3, 16, 16}));
  second.adapter->restore(first.adapter->snapshot());
  second.method->label = 1;
  EXPECT_EQ(second.adapter->step(at::rand({1, 3, 16, 16})).guard,
            "75 % of the predictions are class 0; skip");
}

TEST(Guard, WithoutGuardsAHistoryIsLeftOut) {
  Guarded guarded(with_action("skip")), unguarded(with_action("off"));
  guarded.window();
  EXPECT_GT(guarded.adapter->snapshot().tensors.count("adapter.guard.windows"),
            0u);
  unguarded.adapter->restore(guarded.adapter->snapshot());
  EXPECT_EQ(unguarded.value(), 1);
  EXPECT_EQ(
      unguarded.adapter->snapshot().tensors.count("adapter.guard.windows"), 0u);
}

// Two windows of class 0; guards that look at one only see the last, of class
// 1, and guards that look at three wait for another one.
TEST(Guard, OtherOptionsJudgeTheHistoryTheirWay) {
  GuardOptions options = with_action("skip");
  options.history = 3;
  Guarded first(options);
  first.window();
  first.window();
  const auto after_another = [&](int64_t history) {
    options.history = history;
    options.max_class_share = 0.6;
    Guarded second(options);
    second.adapter->restore(first.adapter->snapshot());
    second.method->label = 1;
    return second.window().guard;
  };
  EXPECT_EQ(after_another(1), "100 % of the predictions are class 1; skip");
  EXPECT_EQ(after_another(2), "");
  EXPECT_EQ(after_another(3), "67 % of the predictions are class 0; skip");
  EXPECT_EQ(after_another(4), "");
}

TEST(Guard, ResetForgetsTheHistoryAndTheGoodSnapshot) {
  GuardOptions options = with_action("rollback");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  for (int64_t i = 0; i < 3; ++i) {
    guarded.method->label = i % 2;
    guarded.window();
  }
  guarded.adapter->reset();
  guarded.method->label = 0;
  EXPECT_EQ(guarded.window().guard, "") << "the window before was of class 0";
  guarded.method->report.loss = scalar(std::nan(""));
  guarded.window();
  EXPECT_EQ(guarded.value(), 0);
}

TEST(Guard, AHistoryThatDoesNotFitIsRefusedAndChangesNothing) {
  Guarded first(with_action("rollback")), second(with_action("rollback"));
  first.window();
  const Snapshot good = first.adapter->snapshot();
  const auto refused = [&](const std::string& name, const at::Tensor& value) {
    Snapshot bad = good;
    bad.tensors.erase("adapter.guard." + name);
    if (value.defined()) bad.tensors["adapter.guard." + name] = value;
    EXPECT_THROW(second.adapter->restore(bad), Error) << name;
    EXPECT_EQ(second.value(), 0);
    EXPECT_EQ(second.adapter->samples(), 0);
  };
  refused("windows", {});
  refused("current", at::zeros({4}, at::kLong));
  refused("good.value", {});
  refused("good.value", at::zeros({2}));
  refused("good.more", at::zeros({1}));
  refused("good.adapter.pending", at::full({1}, 3, at::kLong));
  EXPECT_NO_THROW(second.adapter->restore(good));
}

// Trials neither change the history nor copy it.
TEST(Guard, TakingBackLeavesTheHistoryAsItIsNow) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  const Snapshot before = guarded.adapter->snapshot();
  guarded.window();
  guarded.adapter->take_back(before);
  EXPECT_EQ(guarded.adapter->samples(), 0);
  EXPECT_NE(guarded.window().guard, "");
  const auto good = [&] {
    return guarded.adapter->snapshot().tensors.at("adapter.guard.good.value");
  };
  EXPECT_TRUE(good().is_same(good()));
}

}  // namespace
}  // namespace sotta
