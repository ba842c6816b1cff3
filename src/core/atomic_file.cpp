#include "sotta/core/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "sotta/core/output_place.h"

namespace sotta {
namespace {

// Distinct among processes and among the writers of one process.
std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<int> counter{0};
  auto temporary = path;
  temporary += ".partial-" + std::to_string(::getpid()) + "-" +
               std::to_string(counter.fetch_add(1));
  return temporary;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(temporary_beside(path_)),
      descriptor_(::open(temporary_.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_to_write(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t size) {
  const auto* begin = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, begin, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write(path_, errno);
    begin += written;
    size -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_to_write(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    fail_to_write(path_, errno);
  temporary_.clear();
}

void replace_file(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace sotta
