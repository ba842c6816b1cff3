// Loaded before the C library (LD_PRELOAD): a disk that refuses now and then
// what is written and synced under a folder, with EIO.
//
//   FAILING_DISK=CONTROL FOLDER    a file of two 32-bit numbers, mapped by both
//                                  sides: how many of 1,000 calls fail, and how
//                                  many have failed; and where
//
// A sync that fails loses what was written to the file since the one before, as
// a kernel may that drops the pages: there are zeros in its place. A write that
// fails has written half.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

struct Control {
  std::atomic<uint32_t> per_mille, failed;
};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

class Disk {
 public:
  // Nothing fails where it was not told what.
  Disk() {
    const char* told = std::getenv("FAILING_DISK");
    const std::string words = told == nullptr ? "" : told;
    const size_t space = words.find(' ');
    if (space == std::string::npos) return;
    folder_ = words.substr(space + 1) + "/";
    const int file = ::open(words.substr(0, space).c_str(), O_RDWR | O_CLOEXEC);
    void* mapped = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                          MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) std::abort();
    ::close(file);
    control_ = static_cast<Control*>(mapped);
  }

  bool fails(int descriptor) {
    if (control_ == nullptr || control_->per_mille == 0 || !is_here(descriptor))
      return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (draw_() % 1000 >= control_->per_mille) return false;
    ++control_->failed;
    return true;
  }

  void note_synced(int descriptor) {
    const auto file = look_at(descriptor);
    if (!file) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    synced_[file->name] = file->size;
  }

  // Called before. What is there of a file that this process has not written
  // yet has reached the disk; one that it has may have been cut off since.
  void note_write(int descriptor) {
    const auto file = look_at(descriptor);
    if (!file) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    off_t& synced = synced_.emplace(file->name, file->size).first->second;
    synced = std::min(synced, file->size);
  }

  void lose_unsynced(int descriptor) {
    const auto file = look_at(descriptor);
    if (!file) return;
    off_t begin = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      begin = synced_.emplace(file->name, file->size).first->second;
    }
    if (begin >= file->size) return;
    // The descriptor may only append: another one.
    const int other = ::open(link_of(descriptor).c_str(), O_WRONLY | O_CLOEXEC);
    const std::vector<char> zeros(static_cast<size_t>(file->size - begin));
    if (::pwrite(other, zeros.data(), zeros.size(), begin) < 0) std::abort();
    ::close(other);
  }

 private:
  // A number of a file may be used again, but not with the time of its birth.
  struct File {
    std::tuple<uint64_t, int64_t, uint32_t> name;
    off_t size = 0;
  };

  // None where that does not matter: nothing fails here, or it is a folder.
  std::optional<File> look_at(int descriptor) const {
    struct statx about = {};
    if (control_ == nullptr ||
        ::statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME,
                &about) != 0 ||
        !S_ISREG(about.stx_mode))
      return std::nullopt;
    return File{
        {about.stx_ino, about.stx_btime.tv_sec, about.stx_btime.tv_nsec},
        static_cast<off_t>(about.stx_size)};
  }

  static std::string link_of(int descriptor) {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

  bool is_here(int descriptor) const {
    char place[4096];
    const ssize_t size =
        ::readlink(link_of(descriptor).c_str(), place, sizeof place);
    return size > 0 && std::string(place, static_cast<size_t>(size))
                               .compare(0, folder_.size(), folder_) == 0;
  }

  std::string folder_;
  Control* control_ = nullptr;
  std::mutex mutex_;
  std::mt19937 draw_{std::random_device{}()};
  // How much of each file has reached the disk.
  std::map<std::tuple<uint64_t, int64_t, uint32_t>, off_t> synced_;
};

Disk& disk() {
  static Disk* disk = new Disk;  // used until the very end of the process
  return *disk;
}

int sync_or_fail(const char* name, int descriptor) {
  static_assert(sizeof(Control) == 8);
  if (disk().fails(descriptor)) {
    disk().lose_unsynced(descriptor);
    errno = EIO;
    return -1;
  }
  const int result = next<int(int)>(name)(descriptor);
  if (result == 0) disk().note_synced(descriptor);
  return result;
}

}  // namespace

extern "C" int fsync(int descriptor) {
  return sync_or_fail("fsync", descriptor);
}

extern "C" int fdatasync(int descriptor) {
  return sync_or_fail("fdatasync", descriptor);
}

extern "C" ssize_t write(int descriptor, const void* data, size_t size) {
  static const auto real = next<ssize_t(int, const void*, size_t)>("write");
  disk().note_write(descriptor);
  if (!disk().fails(descriptor)) return real(descriptor, data, size);
  if (real(descriptor, data, size / 2) < 0) return -1;
  errno = EIO;
  return -1;
}
