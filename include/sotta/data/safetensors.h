#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "sotta/data/array.h"

namespace sotta {

// What a safetensors file holds: named arrays and free-form text.
struct TensorFile {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;
};

// Reads a file whose tensors are F32, F16, BF16, U8 or I64; another type is
// Error(kUnsupported) naming the tensor. Whatever the format forbids (overlaps,
// holes, sizes that do not fit the shape, names given twice, text that is not
// UTF-8) is Error(kBadFormat). The arrays share the mapped file, apart from
// those that lie unaligned in it.
TensorFile read_safetensors(const std::filesystem::path& path);

// Replaces the file in one step and waits for the disk: after a crash or a
// power cut it is either the old one or the whole new one. Equal content gives
// equal bytes. Throws Error(kInvalid) for names or metadata that are not UTF-8
// and for a tensor named "__metadata__".
void write_safetensors(const std::filesystem::path& path,
                       const TensorFile& content);

// The bytes of such a file; `subject` is named in messages.
std::string safetensors_bytes(const TensorFile& content,
                              const std::string& subject);

// Reading from memory; `subject` is named in messages. The first form copies
// the tensors, the second shares them.
TensorFile parse_safetensors(const std::byte* data, size_t size,
                             const std::string& subject);
TensorFile parse_safetensors(const std::shared_ptr<const std::byte>& data,
                             size_t size, const std::string& subject);

}  // namespace sotta
