#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sotta/data/array.h"

namespace sotta {

// One tensor as the JSON header of a safetensors file describes it.
struct TensorEntry {
  std::string name;
  std::string type_code;  // "F32"
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // within the bytes that follow the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of the file's text
  std::map<std::string, std::string> metadata;
};

// Checks the text and each entry's form, not yet what the entries mean.
SafetensorsHeader parse_safetensors_header(std::string_view json,
                                           const std::string& subject);

// The header's text, without its length and padding. Throws Error(kInvalid)
// for names or metadata that are not UTF-8.
std::string make_safetensors_header(const SafetensorsHeader& header,
                                    const std::string& subject);

}  // namespace sotta
