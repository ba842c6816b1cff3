#pragma once

#include <cerrno>
#include <mutex>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/stat.h>

namespace sotta::testing {

inline std::vector<std::string> synced;  // "file" or "folder", in their order
inline int failing_sync = 0;             // counted from 1; 0 for none
inline int sync_error = EIO;             // what that one says
inline std::mutex noting;                // several threads sync at once

}  // namespace sotta::testing

// In place of the C library's: notes what is synced, and fails when told to.
// For one source of a test program.
extern "C" int fsync(int descriptor) {
  using sotta::testing::synced;
  struct stat about = {};
  ::fstat(descriptor, &about);
  {
    const std::lock_guard lock(sotta::testing::noting);
    synced.emplace_back(S_ISDIR(about.st_mode) ? "folder" : "file");
    if (static_cast<int>(synced.size()) == sotta::testing::failing_sync) {
      errno = sotta::testing::sync_error;
      return -1;
    }
  }
  const auto real = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  return real(descriptor);
}
