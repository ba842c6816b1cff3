#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sotta/models/normalisation.h"

#include "data/torch/torch_checkpoint.h"

namespace sotta {

struct ConvertOptions {
  // Which tensors to take, and under what names.
  CheckpointOptions input;

  // How the network expects its pixels; stored with the weights, in place of
  // the input's own. Without it the input's own, if it has one, is kept.
  std::optional<Normalisation> normalisation;

  // Further metadata, in place of the input's own: "size", "groups", "heads".
  std::map<std::string, int64_t> numbers;

  // Stores float32 weights of two and more dimensions as float16: half the
  // size. Vectors and all tensors of norm layers, which adaptation changes,
  // stay as they are.
  bool half = false;

  // Leaves out the norm layers' num_batches_tracked, which only training reads.
  bool drop_batch_counts = false;
};

struct ConvertResult {
  std::string format;                // of the input: "safetensors" or "torch"
  std::string key;                   // the entry of a checkpoint, or empty
  int64_t tensors = 0;               // written
  int64_t parameters = 0;            // numbers in them, without norm statistics
  int64_t halved = 0;                // tensors that became float16
  int64_t bytes = 0;                 // of the written file
  std::vector<std::string> skipped;  // "epoch (number)": what was not written
};

// Reads a PyTorch checkpoint or a safetensors file and writes its tensors as
// safetensors, in one step: `output` is the old file or the whole new one.
// float32 values are kept bit for bit unless `half` is set.
//
// Throws what read_weights_file and write_safetensors throw, and
// Error(kInvalid) for an unusable normalisation or a weight too large for
// float16.
ConvertResult convert_weights(const std::filesystem::path& input,
                              const std::filesystem::path& output,
                              const ConvertOptions& options = {});

}  // namespace sotta
