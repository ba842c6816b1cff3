#include "data/sets/catalog.h"

#include <set>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "data/formats/sha1.h"

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

// A network that was trained elsewhere depends on each of these numbers.
TEST(Catalog, NumbersAreThePublishedOnes) {
  struct Published {
    const char* name;
    DatasetLayout layout;
    int64_t classes;
    std::vector<int64_t> shape;
    std::vector<double> mean, std;
  };
  const std::vector<double> imagenet_mean = {0.485, 0.456, 0.406};
  const std::vector<double> imagenet_std = {0.229, 0.224, 0.225};
  const std::vector<double> cifar10_mean = {0.4914, 0.4822, 0.4465};
  const std::vector<double> cifar10_std = {0.2471, 0.2435, 0.2616};
  const std::vector<double> cifar100_mean = {0.5071, 0.4865, 0.4409};
  const std::vector<double> cifar100_std = {0.2673, 0.2564, 0.2762};
  using Layout = DatasetLayout;
  const std::vector<Published> published = {
      {"cifar10", Layout::kCifar10, 10, {3, 32, 32}, cifar10_mean, cifar10_std},
      {"cifar100",
       Layout::kCifar100,
       100,
       {3, 32, 32},
       cifar100_mean,
       cifar100_std},
      {"cifar10-c", Layout::kNpy, 10, {3, 32, 32}, cifar10_mean, cifar10_std},
      {"cifar100-c",
       Layout::kNpy,
       100,
       {3, 32, 32},
       cifar100_mean,
       cifar100_std},
      {"mnist", Layout::kIdx, 10, {1, 28, 28}, {0.1307}, {0.3081}},
      {"fashion-mnist", Layout::kIdx, 10, {1, 28, 28}, {0.2860}, {0.3530}},
      {"imagenet",
       Layout::kFolders,
       1000,
       {3, 224, 224},
       imagenet_mean,
       imagenet_std},
      {"tiny-imagenet",
       Layout::kFolders,
       200,
       {3, 64, 64},
       imagenet_mean,
       imagenet_std}};

  ASSERT_EQ(known_datasets().size(), published.size());
  for (size_t i = 0; i < published.size(); ++i) {
    const DatasetEntry& entry = known_datasets()[i];
    SCOPED_TRACE(entry.name);
    EXPECT_EQ(entry.name, published[i].name);
    EXPECT_EQ(entry.layout, published[i].layout);
    EXPECT_EQ(entry.classes, published[i].classes);
    EXPECT_EQ((std::vector<int64_t>{entry.shape.channels, entry.shape.height,
                                    entry.shape.width}),
              published[i].shape);
    EXPECT_EQ(entry.mean, published[i].mean);
    EXPECT_EQ(entry.std, published[i].std);
  }
}

// Names, sizes and checksums of all files, and where they come from. A change
// that is meant changes the number here too.
TEST(Catalog, FilesAreThePublishedOnes) {
  std::string listing;
  for (const DatasetEntry& entry : known_datasets()) {
    listing += entry.name + "|" + entry.origin + "|" + entry.system_folder +
               "|" + (entry.gettable ? "gettable" : "-") + "\n";
    for (const DatasetSplit& split : entry.splits)
      for (const DatasetFile& file : split.files)
        listing += split.name + "|" + file.path + "|" +
                   std::to_string(file.size) + "|" + file.sha1 + "\n";
  }
  Sha1 checksum;
  checksum.update(listing.data(), listing.size());
  EXPECT_EQ(checksum.finish(), "b1312534d5926f266d0c192002575053824809c7")
      << listing;
}

TEST(Catalog, OnlyImageNetsPhotographsComeInAllSizes) {
  for (const DatasetEntry& entry : known_datasets())
    EXPECT_EQ(entry.mixed_sizes, entry.name == "imagenet") << entry.name;
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
