#pragma once

#include <filesystem>
#include <memory>

#include "sotta/models/classifier.h"
#include "sotta/models/weights.h"

namespace sotta {

// Makes a classifier from a TorchScript file, scripted or traced: any network
// that takes one batch of images, normalises with batch norm somewhere and ends
// in a linear layer. Its batch norm layers are given their statistics at each
// call like those of our own networks, so every method can adapt it; parameters
// keep their names.
//
// TorchScript files do not say how their inputs are normalised, so
// options.normalisation is required; mean 0 and std 1 for a network that
// normalises pixels itself.
//
// Throws Error: kNotFound if there is no file, kBadFormat if it is not
// TorchScript, kUnsupported naming what about the network does not fit.
std::unique_ptr<Classifier> load_torchscript(const std::filesystem::path& file,
                                             const LoadOptions& options);

// Whether a file is a TorchScript archive, by its content.
bool is_torchscript(const std::filesystem::path& file);

}  // namespace sotta
