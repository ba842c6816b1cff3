#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "sotta/data/array.h"

namespace sotta {

// Read-only bytes that live as long as any copy of `data` does.
struct SharedBytes {
  std::shared_ptr<const std::byte> data;
  size_t size = 0;
};

// The bytes of a file, memory-mapped: pages are read when they are touched and
// a file costs no memory of our own. A file replaced by rename stays readable
// as it was; one that is cut short while mapped is the caller's risk, as with
// every mapped file. Throws Error(kNotFound) if there is no file,
// Error(kInvalid) for a folder, a device or a loop of links, Error(kIo) when
// the system refuses.
SharedBytes map_file(const std::filesystem::path& path);

// Somebody else's memory as SharedBytes, without taking ownership.
SharedBytes borrow_bytes(const std::byte* data, size_t size);

// The array that begins at `offset`. Shares the memory, or copies it where the
// elements are not aligned for typed access. The caller has checked that the
// array lies within `bytes`.
Array array_at(const SharedBytes& bytes, size_t offset, ElementType type,
               std::vector<int64_t> shape);

// The same, always as a copy.
Array copy_array_at(const SharedBytes& bytes, size_t offset, ElementType type,
                    std::vector<int64_t> shape);

}  // namespace sotta
