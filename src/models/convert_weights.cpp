#include "models/convert_weights.h"

#include <string_view>
#include <system_error>

#include <ATen/core/Tensor.h>

#include "sotta/core/error.h"
#include "sotta/data/safetensors.h"

#include "data/formats/weights_file.h"
#include "data/tensor.h"
#include "models/stored_size.h"

namespace sotta {
namespace {

bool ends_with(const std::string& name, std::string_view end) {
  return name.size() >= end.size() &&
         name.compare(name.size() - end.size(), end.size(), end) == 0;
}

bool is_statistic(const std::string& name) {
  return ends_with(name, "running_mean") || ends_with(name, "running_var") ||
         ends_with(name, "num_batches_tracked");
}

// A norm layer is known by its running mean: its other tensors lie beside it.
bool belongs_to_norm_layer(const TensorFile& file, const std::string& name) {
  const std::string layer = name.substr(0, name.rfind('.') + 1);
  return file.tensors.count(layer + "running_mean") > 0;
}

Array halve(const Array& array, const std::string& subject) {
  const at::Tensor tensor = to_tensor(array);
  const at::Tensor halved = tensor.to(at::kHalf);
  const bool fits = halved.isfinite().eq(tensor.isfinite()).all().item<bool>();
  require(fits, subject, "a weight is too large for float16 (65504 at most)");
  return to_array(halved);
}

int64_t halve_weights(TensorFile& file, const std::string& subject) {
  int64_t halved = 0;
  for (auto& [name, array] : file.tensors) {
    if (array.type != ElementType::kFloat32 || array.shape.size() < 2 ||
        belongs_to_norm_layer(file, name))
      continue;
    array = halve(array, subject + ", tensor \"" + name + "\"");
    ++halved;
  }
  return halved;
}

void check_first_layer(const TensorFile& file,
                       const Normalisation& normalisation) {
  const auto channels = first_layer_channels(file);
  if (channels) check_channels(normalisation, *channels);
}

void drop_batch_counts(WeightsFile& weights) {
  auto& tensors = weights.content.tensors;
  for (auto tensor = tensors.begin(); tensor != tensors.end();) {
    if (!ends_with(tensor->first, "num_batches_tracked")) {
      ++tensor;
      continue;
    }
    weights.skipped.push_back(tensor->first + " (batch count)");
    tensor = tensors.erase(tensor);
  }
}

}  // namespace

ConvertResult convert_weights(const std::filesystem::path& input,
                              const std::filesystem::path& output,
                              const ConvertOptions& options) {
  if (options.normalisation) check_normalisation(*options.normalisation);
  WeightsFile weights = read_weights_file(input, options.input);
  TensorFile& file = weights.content;
  ConvertResult result;
  if (options.drop_batch_counts) drop_batch_counts(weights);
  if (file.tensors.empty())
    fail(ErrorKind::kInvalid, input.string(),
         "expected tensors to convert, got none");
  if (options.half) result.halved = halve_weights(file, input.string());
  if (options.normalisation) {
    check_first_layer(file, *options.normalisation);
    file.metadata["mean"] = format_number_list(options.normalisation->mean);
    file.metadata["std"] = format_number_list(options.normalisation->std);
  }
  for (const auto& [name, number] : options.numbers)
    file.metadata[name] = std::to_string(number);
  write_safetensors(output, file);

  result.format = weights.format;
  result.key = weights.key;
  result.skipped = weights.skipped;
  result.tensors = static_cast<int64_t>(file.tensors.size());
  for (const auto& [name, array] : file.tensors)
    if (!is_statistic(name)) result.parameters += array.count();
  std::error_code problem;
  const auto bytes = std::filesystem::file_size(output, problem);
  if (problem)
    fail(ErrorKind::kIo, output.string(),
         "cannot be looked at: " + problem.message());
  result.bytes = static_cast<int64_t>(bytes);
  return result;
}

}  // namespace sotta
