#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sotta/data/safetensors.h"

#include "data/torch/torch_checkpoint.h"

namespace sotta {

// Named tensors and what the file held beside them.
struct WeightsFile {
  TensorFile content;
  std::string format;  // "safetensors" or "torch"

  // Of a checkpoint; see TorchCheckpoint.
  std::string key;
  std::vector<std::string> skipped;
};

// Reads a PyTorch checkpoint or a safetensors file, told apart by what they
// hold and not by their names. The options apply to both, apart from `key`,
// which is Error(kInvalid) for a safetensors file: it has no entries to choose
// from. Otherwise throws as the readers of the two formats do, and
// Error(kBadFormat) for a file that is neither.
WeightsFile read_weights_file(const std::filesystem::path& path,
                              const CheckpointOptions& options = {});

}  // namespace sotta
