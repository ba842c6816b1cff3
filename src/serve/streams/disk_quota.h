#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace sotta {

// How much the folders of streams hold, and may hold. Thread-safe.
class DiskQuota {
 public:
  // At most so many bytes; 0: any number.
  explicit DiskQuota(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Looks at the files in a stream's folder. Call it when they have changed.
  void measure(const std::filesystem::path& folder);

  // Throws Error(kIo), as a full disk does, if nothing more may be written.
  void require_room(const std::filesystem::path& folder) const;

  int64_t used() const;

 private:
  const int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> bytes_;  // by folder
  int64_t used_ = 0;
};

}  // namespace sotta
