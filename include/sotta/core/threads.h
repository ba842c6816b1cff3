#pragma once

#include <cstdint>
#include <functional>

namespace sotta {

// The number of cores this process may run on (its affinity mask, not the
// machine's size). At least 1.
int64_t available_cores();

// The most threads that may be asked for: four per available core, or 64 if
// that is more. A mistyped number would otherwise take the machine's memory and
// every other process's time.
int64_t most_threads();

// Throws Error(kInvalid) naming the option unless low <= threads <=
// most_threads().
void require_threads(const char* name, int64_t threads, int64_t low);

// Calls work(0) .. work(count-1), each once, from up to `threads` threads, and
// never more than most_threads(): LibTorch's number of threads, which many
// callers hand on, may be anything. An exception of `work` is passed on after
// all threads have ended; calls that had not begun by then are left out.
// LibTorch's own at::parallel_for is serial in code that is compiled without
// OpenMP, as ours is.
void run_in_threads(int64_t count, int64_t threads,
                    const std::function<void(int64_t)>& work);

}  // namespace sotta
