#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>

#include "sotta/data/safetensors.h"
#include "sotta/gpu/device.h"
#include "sotta/models/classifier.h"
#include "sotta/models/normalisation.h"

namespace sotta {

// With a GPU's settings: precision, tuned, shared.
struct LoadOptions : DeviceSettings {
  // How inputs are normalised: what the caller says wins over a file's own
  // metadata ("mean" and "std").
  std::optional<Normalisation> normalisation;

  // The same for files that do not say it themselves.
  std::optional<Normalisation> default_normalisation;

  at::Device device = at::Device(at::kCPU);
};

// Makes a classifier from a safetensors file; the network is inferred from the
// tensors' names and shapes. Weights of any floating type become float32. A
// TorchScript file or a .pt2 file of torch.export brings its own network.
//
// Throws Error(kBadFormat) with every missing, unexpected and mis-shaped tensor
// in one message, Error(kInvalid) if nothing says how inputs are normalised,
// Error(kUnsupported) for a precision that device or network do not have.
std::unique_ptr<Classifier> load_classifier(const std::filesystem::path& file,
                                            const LoadOptions& options = {});

// The same from tensors in memory; messages name `subject`.
std::unique_ptr<Classifier> make_classifier(const TensorFile& tensors,
                                            const LoadOptions& options,
                                            const std::string& subject);

enum class WeightPrecision {
  kFloat,  // everything float32
  kHalf,   // body float16, norm layers float32: half the size, and the numbers
           // that adaptation changes stay exact
};

// A state as a file's content: tensors by name, normalisation as metadata.
TensorFile export_weights(const Classifier& model, const ModelState& state,
                          WeightPrecision precision = WeightPrecision::kFloat);

// Only the norm layers of a state: all that most methods change, some
// kilobytes.
TensorFile export_norm(const Classifier& model, const ModelState& state);

// The state that `base` becomes with the norm layers of `norm` in place of its
// own. Throws Error(kBadFormat) naming `subject` if they do not fit the model.
ModelState apply_norm(const Classifier& model, const ModelState& base,
                      const TensorFile& norm, const std::string& subject);

}  // namespace sotta
