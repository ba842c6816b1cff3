#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "sotta/models/classifier.h"
#include "sotta/models/weights.h"

namespace sotta {

// Makes a classifier from a `.pt2` file of torch.export (PyTorch 2.5 to 2.11):
// any network that takes one batch of images, of any number, and gives a row of
// logits for each, with batch, layer, group or instance norm somewhere that has
// scales and shifts. It is adapted like a TorchScript network (torchscript.h);
// that it was exported in training mode makes no difference, but for operators
// that draw random numbers: those are refused.
//
// The file holds no code. Its nodes name operators of LibTorch, which are
// called one after another; only operators of the namespace aten, and none that
// reads or writes files. But those trust their arguments, and there may be
// arguments that they crash on: a program that must survive any file tries it
// in another process first, as the command `sotta` does
// (apps/sotta/network_probe.h).
//
// `.pt2` files do not say how their inputs are normalised, so
// options.normalisation is required; mean 0 and std 1 for a network that
// normalises pixels itself.
//
// Throws Error: what read_exported_program() throws, kUnsupported naming what
// about the network does not fit, or all operators at once that this LibTorch
// lacks. forward() throws as that of a TorchScript network does.
std::unique_ptr<Classifier> load_exported(const std::filesystem::path& file,
                                          const LoadOptions& options);

// The same of a file's bytes in memory; messages name `subject`.
std::unique_ptr<Classifier> parse_exported(std::string_view bytes,
                                           const LoadOptions& options,
                                           const std::string& subject);

}  // namespace sotta
