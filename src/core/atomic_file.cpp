#include "core/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "core/output_place.h"

namespace sotta {
namespace {

constexpr const char* kPartial = ".partial-";

// The file that a link leads to is replaced, not the link; a link to nothing is
// replaced itself. A device must stay what it is: root could rename a file over
// /dev/null.
std::filesystem::path file_to_replace(const std::filesystem::path& path) {
  std::error_code ignored;  // opening the file says it better
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_other(status))
    fail(ErrorKind::kIo, path.string(),
         "cannot be written: expected a regular file, got a device, pipe or "
         "socket");
  if (!std::filesystem::is_symlink(path, ignored)) return path;
  std::error_code problem;
  const auto target = std::filesystem::canonical(path, problem);
  if (!problem) return target;
  if (std::filesystem::exists(status))
    fail(ErrorKind::kIo, path.string(),
         "cannot be written: what the link leads to has no name any more");
  if (status.type() != std::filesystem::file_type::not_found)
    fail_to_write(path, problem.value());  // such as links in a circle
  return path;
}

// Distinct among processes and among the writers of one process.
std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<int> counter{0};
  auto temporary = path;
  temporary += kPartial + std::to_string(::getpid()) + "-" +
               std::to_string(counter.fetch_add(1));
  return temporary;
}

// Some file systems have nothing to sync, and say so. EROFS is no such answer:
// what was written is lost on one that has become read-only since.
bool reached_disk(int descriptor) {
  return ::fsync(descriptor) == 0 || errno == EINVAL;
}

// `path` is what the message names.
void sync(const std::filesystem::path& place, int flags,
          const std::filesystem::path& path) {
  const int descriptor = ::open(place.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) fail_to_write(path, errno);
  const int problem = reached_disk(descriptor) ? 0 : errno;
  ::close(descriptor);
  if (problem != 0) fail_to_write(path, problem);
}

// A name is kept by its folder.
void sync_folder_of(const std::filesystem::path& path) {
  const auto parent = path.parent_path();
  sync(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY, path);
}

// A writer holds a lock on its temporary file, also one on another machine;
// one on this machine has a living process.
bool is_abandoned(const std::filesystem::path& temporary, long process) {
  if (process <= 0 || ::kill(static_cast<pid_t>(process), 0) == 0 ||
      errno != ESRCH)
    return false;
  const int descriptor = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool unlocked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return unlocked;
}

// Removes what writers of `path` that were killed have left beside it.
void remove_leftovers(const std::filesystem::path& path) {
  const std::string prefix = path.filename().string() + kPartial;
  const auto folder =
      path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end;
       entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const long process = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (is_abandoned(entry->path(), process)) ::unlink(entry->path().c_str());
  }
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(file_to_replace(path)),
      temporary_(temporary_beside(path_)),
      descriptor_(::open(temporary_.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_to_write(path_, errno);
  ::flock(descriptor_, LOCK_EX | LOCK_NB);
  remove_leftovers(path_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t size) {
  if (!write_all(descriptor_, data, size)) fail_to_write(path_, errno);
}

void AtomicFile::commit_durably() {
  if (!reached_disk(descriptor_)) fail_to_write(path_, errno);
  commit();
  sync_folder_of(path_);
}

void AtomicFile::commit() {
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_to_write(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    fail_to_write(path_, errno);
  temporary_.clear();
}

bool write_all(int descriptor, const void* data, size_t size) {
  const auto* begin = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor, begin, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    begin += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool is_partial_file(const std::string& name) {
  return name.find(kPartial) != std::string::npos;
}

void replace_file(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void make_folder_durably(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  make_folder_durably(folder.parent_path());
  make_folder(folder);
  try {
    sync_folder_of(folder);
  } catch (...) {
    std::filesystem::remove(folder, ignored);
    throw;
  }
}

void rename_durably(const std::filesystem::path& from,
                    const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_to_write(from, errno);
  try {
    sync_folder_of(from);
  } catch (...) {
    ::rename(to.c_str(), from.c_str());
    throw;
  }
}

void sync_file(const std::filesystem::path& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return;
  sync(path, O_WRONLY, path);
  sync_folder_of(path);
}

}  // namespace sotta
