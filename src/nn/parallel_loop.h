#pragma once

#include <cstdint>
#include <functional>

namespace sotta {

// Calls work(0) .. work(count-1), each once, on LibTorch's threads.
void parallel_loop(int64_t count, const std::function<void(int64_t)>& work);

}  // namespace sotta
