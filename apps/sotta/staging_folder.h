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

  // Brings its whole file system to the disk: before a rename out of the folder
  // the content, which then outlives a power cut as surely as the name; after
  // it the name. Throws Error(kIo) when the system refuses.
  void sync() const;

 private:
  // False if another process removed the new folder before it was locked.
  bool make_and_lock(const std::filesystem::path& parent);

  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace sotta::cli
