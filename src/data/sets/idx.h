#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "sotta/data/array.h"

namespace sotta {

// The idx files of MNIST and its relatives, plain or compressed with gzip; the
// first bytes tell which. Elements are uint8, in 1 to 4 dimensions; another
// element type or rank is Error(kUnsupported), as is a compressed file in a
// build without zlib. A plain file's array shares the mapped file.
Array read_idx(const std::filesystem::path& path);

// The same from memory; `subject` is named in messages. The first form copies
// the elements, the second shares those of a plain file.
Array parse_idx(const std::byte* data, size_t size, const std::string& subject);
Array parse_idx(const std::shared_ptr<const std::byte>& data, size_t size,
                const std::string& subject);

}  // namespace sotta
