#pragma once

#include <filesystem>
#include <memory>

#include "sotta/models/classifier.h"
#include "sotta/models/weights.h"

namespace sotta {

// What a file of a network is, by its content: safetensors, whose network is
// inferred from the tensors; or one that brings its own network.
enum class NetworkFormat { kSafetensors, kTorchScript, kExported };

// "safetensors", "torchscript" or "exported".
const char* name_of(NetworkFormat format);

// kSafetensors for what is neither of the others, also for no file at all.
NetworkFormat network_format(const std::filesystem::path& file);

// Whether a file brings its own network.
bool brings_network(const std::filesystem::path& file);

// Loads a file that does: load_torchscript() or load_exported().
std::unique_ptr<Classifier> load_network_file(const std::filesystem::path& file,
                                              const LoadOptions& options);

}  // namespace sotta
