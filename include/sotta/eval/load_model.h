#pragma once

#include <filesystem>
#include <memory>

#include "sotta/engine/engine.h"
#include "sotta/models/weights.h"

namespace sotta {

// load_classifier() and choose_engine(). Precisions other than float32 are
// LibTorch's alone: "auto" leaves them to it, "fused" is refused with
// Error(kUnsupported).
std::unique_ptr<Classifier> load_model(const std::filesystem::path& file,
                                       const LoadOptions& options,
                                       const EngineOptions& engine);

}  // namespace sotta
