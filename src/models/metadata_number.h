#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sotta/data/safetensors.h"

namespace sotta {

// A whole number from 1 to `most` that a weights file has in its metadata; none
// if it has no such entry. Throws Error(kBadFormat) naming `subject` for
// anything else.
std::optional<int64_t> metadata_number(const TensorFile& file,
                                       const std::string& key, int64_t most,
                                       const std::string& subject);

// The number of attention heads of a ViT; 0 if the metadata do not say it.
int64_t metadata_heads(const TensorFile& file, const std::string& subject);

}  // namespace sotta
