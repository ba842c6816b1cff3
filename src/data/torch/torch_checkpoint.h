#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sotta/data/array.h"

namespace sotta {

struct CheckpointOptions {
  // The entry of the saved dict that holds the tensors, such as "ema". Empty:
  // the dict itself if it has tensors, else the one entry with a usual name
  // (state_dict, model, net, ...).
  std::string key;

  // Removed from the names that begin with it; at least one must. Empty:
  // "module." where all names begin with it, as DataParallel leaves them.
  std::string strip;
};

struct TorchCheckpoint {
  std::map<std::string, Array> tensors;
  std::string key;                   // the entry they come from, or empty
  std::vector<std::string> skipped;  // "epoch (number)": what is no tensor
};

// Reads the tensors of a file that torch.save() wrote from a state_dict or from
// a dict around one, in the zip format or the one before PyTorch 1.6. The
// pickle inside is read as data and never executed; see docs/formats.md for
// what it may hold.
//
// Arrays are dense and share the mapped file where they can. float64 becomes
// float32 and int32 becomes int64; other types that Array lacks, and anything
// but plain data, are Error(kUnsupported). Damage is Error(kBadFormat).
TorchCheckpoint read_torch_checkpoint(const std::filesystem::path& path,
                                      const CheckpointOptions& options = {});

// The same from memory, which the result shares; `subject` is named in
// messages.
TorchCheckpoint parse_torch_checkpoint(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject, const CheckpointOptions& options = {});

}  // namespace sotta
