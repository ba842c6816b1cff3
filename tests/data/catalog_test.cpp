#include "sotta/data/catalog.h"

#include <set>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

TEST(Catalog, EntriesAreCompleteAndNamesUnique) {
  std::set<std::string> names;
  for (const DatasetEntry& entry : known_datasets()) {
    SCOPED_TRACE(entry.name);
    EXPECT_TRUE(names.insert(entry.name).second);
    const auto channels = static_cast<size_t>(entry.shape.channels);
    EXPECT_EQ(entry.mean.size(), channels);
    EXPECT_EQ(entry.std.size(), channels);
    EXPECT_GE(entry.classes, 10);
    EXPECT_FALSE(entry.origin.empty());
    ASSERT_FALSE(entry.splits.empty());
    for (const DatasetSplit& split : entry.splits)
      EXPECT_FALSE(split.files.empty());
  }
}

TEST(Catalog, FilesHaveSizesAndWellFormedChecksums) {
  for (const DatasetEntry& entry : known_datasets())
    for (const DatasetSplit& split : entry.splits)
      for (const DatasetFile& file : split.files) {
        SCOPED_TRACE(file.path);
        EXPECT_GT(file.size, 0);
        EXPECT_TRUE(file.sha1.empty() || file.sha1.size() == 40);
        EXPECT_EQ(file.sha1.find_first_not_of("0123456789abcdef"),
                  std::string::npos);
      }
}

TEST(Catalog, WhatCanBeFetchedCanBeVerified) {
  for (const DatasetEntry& entry : known_datasets())
    for (const DatasetSplit& split : entry.splits)
      for (const DatasetFile& file : split.files)
        EXPECT_FALSE(entry.gettable && file.sha1.empty()) << file.path;
}

TEST(Catalog, UnknownNamesGetASuggestion) {
  try {
    find_dataset("cifar-10");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cifar10"), std::string::npos);
  }
}

TEST(Catalog, TestAndValNameTheEvaluationSplit) {
  EXPECT_EQ(find_split(find_dataset("imagenet"), "test").name, "val");
  EXPECT_EQ(find_split(find_dataset("cifar10"), "val").name, "test");
  EXPECT_EQ(find_split(find_dataset("cifar10"), "train").files.size(), 5u);
  EXPECT_THROW(find_split(find_dataset("cifar10"), "extra"), Error);
}

}  // namespace
}  // namespace sotta
