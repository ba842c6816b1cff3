#pragma once

#include <filesystem>

#include "sotta/core/options.h"

#include "train/trainer.h"

namespace sotta {

// A training that can be continued: everything that steps change, and what was
// being trained, so that it is not continued as something else.
struct Checkpoint {
  TrainerState state;
  OptionMap run;       // dataset, model and all options, by name
  double seconds = 0;  // spent so far
};

// Replaces the file in one step. It is a safetensors file, see docs/formats.md.
void save_checkpoint(const std::filesystem::path& file,
                     const Checkpoint& checkpoint);

// Reads a checkpoint of the training that `run` describes; its own `run` is
// that one. Throws Error(kNotFound) if there is no file, Error(kBadFormat) if
// it is no checkpoint, Error(kInvalid) naming every option that differs.
Checkpoint load_checkpoint(const std::filesystem::path& file,
                           const OptionMap& run);

}  // namespace sotta
