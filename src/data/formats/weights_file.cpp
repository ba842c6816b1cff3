#include "data/formats/weights_file.h"

#include <string_view>
#include <utility>

#include "sotta/core/error.h"

#include "data/formats/mapped_file.h"
#include "data/torch/tensor_names.h"

namespace sotta {
namespace {

// A safetensors file is a length in eight bytes and JSON. The length may look
// like the beginning of a checkpoint; the ninth byte settles it.
bool is_safetensors(std::string_view bytes) {
  return bytes.size() > 8 && bytes[8] == '{';
}

bool is_checkpoint(std::string_view bytes) {
  return bytes.substr(0, 2) == "PK" || bytes.substr(0, 1) == "\x80";
}

}  // namespace

WeightsFile read_weights_file(const std::filesystem::path& path,
                              const CheckpointOptions& options) {
  const std::string subject = path.string();
  const SharedBytes file = map_file(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.data.get()),
                               file.size);
  WeightsFile weights;
  if (is_safetensors(bytes)) {
    require(options.key.empty(), subject,
            "expected no key to choose, a safetensors file has no entries");
    weights.format = "safetensors";
    weights.content = parse_safetensors(file.data, file.size, subject);
    if (!options.strip.empty())
      strip_prefix(weights.content.tensors, options.strip, subject);
  } else if (is_checkpoint(bytes)) {
    TorchCheckpoint checkpoint =
        parse_torch_checkpoint(file.data, file.size, subject, options);
    weights.format = "torch";
    weights.content.tensors = std::move(checkpoint.tensors);
    weights.key = std::move(checkpoint.key);
    weights.skipped = std::move(checkpoint.skipped);
  } else {
    fail(ErrorKind::kBadFormat, subject,
         "expected a PyTorch checkpoint or a safetensors file, got neither");
  }
  return weights;
}

}  // namespace sotta
