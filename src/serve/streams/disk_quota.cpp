#include "serve/streams/disk_quota.h"

#include <system_error>

#include "sotta/core/error.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

// Files may come and go meanwhile, and count when they are looked at again.
int64_t bytes_in(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code problem;
  for (fs::directory_iterator file(folder, problem), end;
       !problem && file != end; file.increment(problem)) {
    std::error_code ignored;
    const auto size = file->file_size(ignored);
    if (!ignored) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

}  // namespace

void DiskQuota::measure(const fs::path& folder) {
  if (most_bytes_ == 0) return;
  const int64_t bytes = bytes_in(folder);
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t& known = bytes_[folder.string()];
  used_ += bytes - known;
  known = bytes;
  if (bytes == 0) bytes_.erase(folder.string());
}

void DiskQuota::require_room(const fs::path& folder) const {
  if (most_bytes_ == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (used_ >= most_bytes_)
    fail(ErrorKind::kIo, folder.string(),
         "cannot be written: all streams hold " + std::to_string(used_ >> 20) +
             " MiB, --max-state-mb allows " +
             std::to_string(most_bytes_ >> 20));
}

int64_t DiskQuota::used() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

}  // namespace sotta
