#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "sotta/models/classifier.h"
#include "sotta/models/weights.h"

namespace sotta {

// Makes a classifier from a TorchScript file, scripted or traced: any network
// that takes one batch of images and gives a row of logits for each, with
// batch, layer, group or instance norm somewhere that has scales and shifts.
// Its batch norm layers are given their statistics at each call like those of
// our own networks, so every method can adapt it; parameters keep their names.
//
// A TorchScript file is a program. LibTorch compiles its code and runs it in
// this process, with this process's rights: the code can use all memory and
// processor time, and LibTorch has operators that read and write files. Load
// only what you would run. The archive is checked before LibTorch sees it
// (data/torch/torchscript_archive.h), so that damage to files is an Error. But
// LibTorch's compiler and operators trust the code, and there is code that they
// crash on. A program that must survive any file tries it in another process
// first, as the command `sotta` does (apps/sotta/network_probe.h).
//
// TorchScript files do not say how their inputs are normalised, so
// options.normalisation is required; mean 0 and std 1 for a network that
// normalises pixels itself.
//
// Throws Error: kNotFound if there is no file, kBadFormat if it is not
// TorchScript or damaged, kUnsupported naming what about the network does not
// fit. forward() throws Error(kUnsupported) with LibTorch's reason if the
// network cannot be run on the images; memory that runs out is LibTorch's own
// exception, see gpu/out_of_memory.h.
std::unique_ptr<Classifier> load_torchscript(const std::filesystem::path& file,
                                             const LoadOptions& options);

// The same of a file's bytes in memory; messages name `subject`.
std::unique_ptr<Classifier> parse_torchscript(std::string_view bytes,
                                              const LoadOptions& options,
                                              const std::string& subject);

}  // namespace sotta
