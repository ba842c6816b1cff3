#pragma once

#include <cstddef>

namespace sotta::engine {

// Bytes of one huge page.
constexpr size_t kHugePage = size_t{2} << 20;

// Memory straight from the system (mmap), aligned to kHugePage, for which
// transparent huge pages are asked: the kernels read and write dozens of
// streams at once, more than the TLB has entries for with small pages. Without
// huge pages they are slower and the same otherwise. Freed memory goes back to
// the system at once, while the heap might keep it.
//
// allocate_pages() throws std::bad_alloc; free_pages() takes the same `bytes`.
void* allocate_pages(size_t bytes);
void free_pages(void* memory, size_t bytes) noexcept;

}  // namespace sotta::engine
