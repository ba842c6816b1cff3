#pragma once

#include <cstddef>

namespace sotta::engine {

// Bytes of one.
constexpr size_t kLargePage = size_t{2} << 20;

// Memory from the system itself, beginning with a large page: what is given
// back takes no room any more, while the heap may keep it. The system is asked
// to back whole large pages with such, where it has them: the kernels go
// through dozens of places at once, and each wants its page's address. Without
// them it is slower and the same otherwise.
void* take_pages(size_t bytes);
void give_pages_back(void* memory, size_t bytes) noexcept;

}  // namespace sotta::engine
