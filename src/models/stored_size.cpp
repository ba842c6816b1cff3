#include "models/stored_size.h"

#include "data/torch/exported_program.h"
#include "models/metadata_number.h"
#include "models/network_file.h"
#include "models/vit.h"

namespace sotta {
namespace {

constexpr int64_t kLargestSide = 16384;

std::optional<int64_t> exported_size(const std::filesystem::path& file) {
  const auto shape = read_exported_graph(file).image_shape;
  const bool is_square = shape.size() == 4 && shape[2] && shape[2] == shape[3];
  if (!is_square || *shape[2] < 1 || *shape[2] > kLargestSide)
    return std::nullopt;
  return shape[2];
}

}  // namespace

std::optional<int64_t> stored_size(const std::filesystem::path& file) {
  const NetworkFormat format = network_format(file);
  if (format == NetworkFormat::kTorchScript) return std::nullopt;
  if (format == NetworkFormat::kExported) return exported_size(file);
  const TensorFile content = read_safetensors(file);
  const auto said =
      metadata_number(content, "size", kLargestSide, file.string());
  if (said) return said;
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, array] : content.tensors)
    shapes[name] = array.shape;
  if (!looks_like_vit(shapes)) return std::nullopt;
  return infer_vit(shapes, metadata_heads(content, file.string()),
                   file.string())
      .image;
}

std::optional<int64_t> stored_channels(const std::filesystem::path& file) {
  const NetworkFormat format = network_format(file);
  if (format == NetworkFormat::kTorchScript) return std::nullopt;
  if (format == NetworkFormat::kExported) {
    const auto shape = read_exported_graph(file).image_shape;
    return shape.size() == 4 ? shape[1] : std::nullopt;
  }
  return first_layer_channels(read_safetensors(file));
}

std::optional<int64_t> first_layer_channels(const TensorFile& content) {
  for (const char* name :
       {"conv1.weight", "conv_proj.weight", "patch_embed.proj.weight"}) {
    const auto found = content.tensors.find(name);
    if (found != content.tensors.end() && found->second.shape.size() == 4)
      return found->second.shape[1];
  }
  return std::nullopt;
}

bool has_stored_normalisation(const std::filesystem::path& file) {
  if (brings_network(file)) return false;
  const TensorFile content = read_safetensors(file);
  return content.metadata.count("mean") > 0 &&
         content.metadata.count("std") > 0;
}

}  // namespace sotta
