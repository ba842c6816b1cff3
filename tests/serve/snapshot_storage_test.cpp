#include "serve/streams/snapshot_storage.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

std::string name_of(const SnapshotEntry& entry) {
  return std::to_string(entry.number) + ending_of(entry);
}

std::vector<std::string> names_of(const std::vector<SnapshotEntry>& entries) {
  std::vector<std::string> names;
  for (const SnapshotEntry& entry : entries)
    names.push_back(name_of(entry));
  return names;
}

using Names = std::vector<std::string>;

// What is left of these when one more plain snapshot has been saved.
Names after(const Names& names, int64_t number, bool repeats = false,
            const SnapshotRetention& retention = {}) {
  auto all = snapshots_among(names, name_of);
  const size_t before = all.size();
  const auto gone = add_snapshot({number, false}, repeats, retention, all);
  EXPECT_EQ(gone.size() + all.size(), before + 1);
  return names_of(all);
}

TEST(SnapshotsAmong, AreThoseOfTheirNamesTheOldestFirst) {
  const Names names = {"12", "7-kept",      "9-left", "x",
                       "-3", "0",           "08",     "damaged-11",
                       "4-", "5-kept-left", "",       "99999999999999999999"};

  EXPECT_EQ(names_of(snapshots_among(names, name_of)),
            (Names{"7-kept", "9-left", "12"}));
}

TEST(NewestPlain, IsNeitherAskedForNorLeft) {
  const auto newest = [](const Names& names) {
    const auto all = snapshots_among(names, name_of);
    const SnapshotEntry* entry = newest_plain(all);
    return entry ? entry->number : 0;
  };

  EXPECT_EQ(newest({"1", "2", "3-kept", "4-left"}), 2);
  EXPECT_EQ(newest({"3-kept", "4-left"}), 0);
}

TEST(AddSnapshot, LeavesTheNewestTwo) {
  EXPECT_EQ(after({}, 1), (Names{"1"}));
  EXPECT_EQ(after({"1", "2"}, 3), (Names{"2", "3"}));
}

TEST(AddSnapshot, LeavesTheNewestOfEachKindUpToItsLimit) {
  const SnapshotRetention few{2, 1, 1};

  EXPECT_EQ(after({"1-kept", "2-left", "3-kept", "4-left", "5-kept", "16", "32",
                   "33", "34"},
                  35, false, few),
            (Names{"3-kept", "4-left", "5-kept", "32", "34", "35"}));
  EXPECT_EQ(after({"16", "32", "33", "34"}, 35, false, {2, 1, 0}),
            (Names{"34", "35"}));
}

TEST(AddSnapshot, LeavesTheNewestTwoWhateverTheirKind) {
  EXPECT_EQ(after({"1", "2-left"}, 3, false, {0, 0, 0}),
            (Names{"1", "2-left", "3"}));
  EXPECT_EQ(after({"1-kept", "2-kept"}, 3, false, {0, 0, 0}),
            (Names{"2-kept", "3"}));
}

TEST(AddSnapshot, TakesThePlaceOfTheOneThatItRepeats) {
  EXPECT_EQ(after({"1", "2"}, 3, /*repeats=*/true), (Names{"1", "3"}));
  EXPECT_EQ(after({"1", "2", "3-kept"}, 4, /*repeats=*/true),
            (Names{"1", "3-kept", "4"}));
  EXPECT_EQ(after({"3-kept"}, 4, /*repeats=*/true), (Names{"3-kept", "4"}));
}

}  // namespace
}  // namespace sotta
