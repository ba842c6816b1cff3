#include "staging_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sotta/core/error.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = ".sotta-get-";

int open_folder(const fs::path& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool is_same_folder(int descriptor, const fs::path& folder) {
  struct stat opened = {}, named = {};
  return ::fstat(descriptor, &opened) == 0 &&
         ::lstat(folder.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void remove_if_unused(const fs::path& folder) {
  const int descriptor = open_folder(folder);
  if (descriptor < 0) return;
  std::error_code ignored;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    fs::remove_all(folder, ignored);
  ::close(descriptor);
}

[[noreturn]] void fail_to_make(const fs::path& parent, int code) {
  fail(ErrorKind::kIo, parent.string(),
       "no folder can be made in it: " + std::generic_category().message(code));
}

}  // namespace

void StagingFolder::remove_leftovers(const fs::path& parent) {
  std::error_code problem;
  std::vector<fs::path> folders;
  for (fs::directory_iterator entry(parent, problem), end;
       !problem && entry != end; entry.increment(problem))
    if (entry->path().filename().string().rfind(kPrefix, 0) == 0)
      folders.push_back(entry->path());
  for (const fs::path& folder : folders)
    remove_if_unused(folder);
}

StagingFolder::StagingFolder(const fs::path& parent) {
  std::error_code problem;
  fs::create_directories(parent, problem);
  if (problem) fail_to_make(parent, problem.value());
  remove_leftovers(parent);
  // Until it is locked, another process may take the new folder for a leftover.
  while (!make_and_lock(parent))
    continue;
}

bool StagingFolder::make_and_lock(const fs::path& parent) {
  std::string name = (parent / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) fail_to_make(parent, errno);
  path_ = fs::absolute(name);
  lock_ = open_folder(path_);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0 &&
      is_same_folder(lock_, path_))
    return true;
  const int code = errno;
  if (lock_ >= 0) ::close(std::exchange(lock_, -1));
  if (code != ENOENT && code != EWOULDBLOCK) {
    fs::remove(path_);
    fail_to_make(parent, code);
  }
  return false;
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void StagingFolder::sync() const {
  if (::syncfs(lock_) != 0)
    fail(
        ErrorKind::kIo, path_.string(),
        "cannot be written to disk: " + std::generic_category().message(errno));
}

}  // namespace sotta::cli
