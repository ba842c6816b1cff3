#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "sotta/data/safetensors.h"

namespace sotta {

// What a weights file says of the images that its network takes; TorchScript
// says nothing, a .pt2 file what sizes it was exported for. Throw what
// read_safetensors throws, Error(kBadFormat) for metadata that are no numbers.

// The side of the square images: metadata "size", the patches of a ViT, or the
// size that a .pt2 file takes alone.
std::optional<int64_t> stored_size(const std::filesystem::path& file);

// Of the first layer of the networks that this project knows.
std::optional<int64_t> first_layer_channels(const TensorFile& content);
std::optional<int64_t> stored_channels(const std::filesystem::path& file);

// Whether it has metadata "mean" and "std".
bool has_stored_normalisation(const std::filesystem::path& file);

}  // namespace sotta
