#pragma once

#include <array>
#include <filesystem>

#include <ATen/core/Tensor.h>

namespace sotta {

// Of the original's six pictures the last is never drawn, and the second and
// the third are the same.
constexpr int64_t kFrostPictures = 5;
using FrostPictures =
    std::array<at::Tensor, kFrostPictures>;  // uint8 [H, W, 3]

// Reads frost1.npy to frost5.npy, RGB. Throws Error(kNotFound) for a missing
// file and Error(kBadFormat) for one that is not the published photograph, by
// its size or its mean colour.
FrostPictures read_frost_photographs(const std::filesystem::path& folder);

}  // namespace sotta
