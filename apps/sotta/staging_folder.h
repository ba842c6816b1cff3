#pragma once

#include <filesystem>
#include <string>

namespace sotta::cli {

// A hidden folder inside `parent` in which new files are put together before
// they get their final names by a rename on the same file system. It goes away
// with the object; what a killed process left behind is removed by the next
// one. A lock on the folder tells what is left from what is in use.
class StagingFolder {
 public:
  // Throws Error(kIo) if the folder cannot be made.
  explicit StagingFolder(const std::filesystem::path& parent);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  // Removes what killed processes left in `parent`, if it can be removed.
  static void remove_leftovers(const std::filesystem::path& parent);

  const std::filesystem::path& path() const { return path_; }

  // Brings everything inside to the disk, so that a rename after it cannot
  // outlive the content over a power cut.
  void sync() const;

 private:
  // False if another process removed the new folder before it was locked.
  bool make_and_lock(const std::filesystem::path& parent);

  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace sotta::cli
