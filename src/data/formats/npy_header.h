#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotta/data/array.h"

namespace sotta {

// What stands before the elements of a .npy file: the magic, a version, a
// length, and a Python dictionary as text, such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct NpyHeader {
  ElementType type = ElementType::kUint8;
  std::vector<int64_t> shape;
  size_t payload_offset = 0;  // never beyond the end of the file
};

NpyHeader parse_npy_header(const std::byte* data, size_t size,
                           const std::string& subject);

// As NumPy writes it: version 1, padded so that the elements begin at a
// multiple of 64.
std::string make_npy_header(ElementType type, const std::vector<int64_t>& shape,
                            const std::string& subject);

}  // namespace sotta
