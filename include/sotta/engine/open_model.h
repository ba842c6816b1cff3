#pragma once

#include <filesystem>
#include <memory>

#include "sotta/engine/engine.h"
#include "sotta/models/weights.h"

namespace sotta {

// How a network is read (normalisation, device, precision) and what runs it.
struct ModelOptions : LoadOptions {
  EngineOptions engine;
};

// Opens a network from safetensors, TorchScript or .pt2 (torch.export) and runs
// it by the fastest engine that fits: the library's front door.
// load_classifier() and choose_engine() are its two halves.
std::unique_ptr<Classifier> open_model(const std::filesystem::path& file,
                                       const ModelOptions& options = {});

}  // namespace sotta
