#include "adapt/guard_history.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;

constexpr int64_t kChannels = 1;
constexpr int64_t kClasses = 3;

// Two windows of four samples, and three samples of the next.
GuardHistory some_history() {
  GuardHistory history;
  history.current = {1, 0, 2};
  history.windows = {{{4, 0, 0}, 4, 1}, {{1, 2, 1}, 3, 3}};
  history.since_good = 2;
  history.good.method = "tent";
  history.good.tensors["affine"] = at::full({2}, 0.5);
  return history;
}

Snapshot with_history() {
  Snapshot snapshot;
  snapshot.method = "tent";
  snapshot.tensors["affine"] = at::ones({2});
  add_history(some_history(), snapshot);
  return snapshot;
}

TEST(GuardHistory, FileAndBackKeepAllOfIt) {
  const testing::TempDir folder;
  write_snapshot(folder / "s", with_history());
  const auto found =
      history_of(read_snapshot(folder / "s"), kClasses, kChannels);

  ASSERT_TRUE(found.has_value());
  const GuardHistory wanted = some_history();
  EXPECT_EQ(found->current, wanted.current);
  EXPECT_EQ(found->since_good, wanted.since_good);
  EXPECT_EQ(found->good.method, "tent");
  ASSERT_EQ(found->good.tensors.size(), 1u);
  EXPECT_TRUE(found->good.tensors.at("affine").equal(at::full({2}, 0.5)));
  ASSERT_EQ(found->windows.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found->windows[i].class_counts, wanted.windows[i].class_counts);
    EXPECT_EQ(found->windows[i].screened, wanted.windows[i].screened);
    EXPECT_EQ(found->windows[i].admitted, wanted.windows[i].admitted);
  }
}

TEST(GuardHistory, OneWithoutWindowsIsAHistoryToo) {
  const testing::TempDir folder;
  GuardHistory history = some_history();
  history.windows.clear();
  Snapshot snapshot;
  snapshot.method = "tent";
  add_history(history, snapshot);
  write_snapshot(folder / "s", snapshot);
  const auto found =
      history_of(read_snapshot(folder / "s"), kClasses, kChannels);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->windows.empty());
}

TEST(GuardHistory, TheRestIsTheSnapshotAsItWas) {
  const Snapshot rest = without_history(with_history());
  EXPECT_EQ(rest.method, "tent");
  ASSERT_EQ(rest.tensors.size(), 1u);
  EXPECT_TRUE(rest.tensors.at("affine").equal(at::ones({2})));
  EXPECT_FALSE(history_of(rest, kClasses, kChannels).has_value());
}

// Trial steps take many snapshots.
TEST(GuardHistory, TheGoodStateIsSharedAndNotCopied) {
  const GuardHistory history = some_history();
  Snapshot snapshot;
  add_history(history, snapshot);
  EXPECT_TRUE(snapshot.tensors.at("adapter.guard.good.affine")
                  .is_same(history.good.tensors.at("affine")));
}

TEST(GuardHistory, WhatCouldNotHaveComeAboutIsRefused) {
  const auto refused = [](const std::string& name, const at::Tensor& value,
                          const std::string& why) {
    Snapshot bad = with_history();
    if (value.defined())
      bad.tensors["adapter.guard." + name] = value;
    else
      bad.tensors.erase("adapter.guard." + name);
    expect_error(ErrorKind::kBadFormat, why,
                 [&] { history_of(bad, kClasses, kChannels); });
  };
  for (const char* name : {"windows", "current", "since_good"}) {
    refused(name, {}, "too, found none");
    refused(name, at::zeros({1, 1, 1}, at::kLong), "as Long");
    refused(name,
            with_history()
                .tensors.at(std::string("adapter.guard.") + name)
                .to(at::kFloat),
            "got Float");
  }
  refused("windows", at::zeros({2, 6}, at::kLong), "got Long [2, 6]");
  refused("current", at::zeros({4}, at::kLong), "got Long [4]");
  refused("current", at::full({3}, -1, at::kLong), "to hold counts");
  refused("since_good", at::full({1}, int64_t{1} << 41, at::kLong),
          "to hold counts");
  at::Tensor windows = at::ones({1, 5}, at::kLong);
  windows[0][0] = 0;
  refused("windows", windows, "no more samples than were screened");
  refused("other", at::zeros({1}, at::kLong), "not to be there");
}

}  // namespace
}  // namespace sotta
