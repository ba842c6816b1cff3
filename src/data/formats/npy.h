#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "sotta/data/array.h"

namespace sotta {

// NumPy's .npy files: versions 1 to 3; uint8, int64 and float32; C order,
// little-endian. Anything else NumPy can write is Error(kUnsupported); anything
// it cannot write, including bytes missing or left over, is Error(kBadFormat).

// The array shares the mapped file: opening a large file costs nothing until
// its elements are read.
Array read_npy(const std::filesystem::path& path);

// Replaces the file in one step: it is either the old one or the whole new one.
// Throws Error(kUnsupported) for element types that read_npy does not take.
void write_npy(const std::filesystem::path& path, const Array& array);

// The same from memory; `subject` is named in messages. The first form copies
// the elements, the second shares them.
Array parse_npy(const std::byte* data, size_t size, const std::string& subject);
Array parse_npy(const std::shared_ptr<const std::byte>& data, size_t size,
                const std::string& subject);

}  // namespace sotta
