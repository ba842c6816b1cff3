#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "sotta/data/array.h"

namespace sotta {

enum class CifarKind {
  k10,   // a record is a label (0-9) and an image
  k100,  // a record is a coarse label (0-19), a fine label (0-99) and an image
};

struct CifarImages {
  Array images;  // uint8 [N, 3, 32, 32]
  Array labels;  // int64 [N]; the fine labels of CIFAR-100
};

// A file of the binary version of CIFAR-10 or CIFAR-100: any whole number of
// records, at least one. A size that does not fit or a label out of its range
// is Error(kBadFormat).
CifarImages read_cifar(const std::filesystem::path& path, CifarKind kind);

// The same from memory; `subject` is named in messages.
CifarImages parse_cifar(const std::byte* data, size_t size, CifarKind kind,
                        const std::string& subject);

}  // namespace sotta
