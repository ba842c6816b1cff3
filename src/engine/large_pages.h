#pragma once

#include <cstddef>

namespace sotta::engine {

// Bytes of one.
constexpr size_t kLargePage = size_t{2} << 20;

// Asks the system to back the whole large pages of some memory with such, where
// it has them: the kernels go through dozens of places at once, and each wants
// its page's address. Without them it is slower and the same otherwise.
void ask_for_large_pages(void* memory, size_t bytes);

}  // namespace sotta::engine
