#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sotta/data/array.h"

namespace sotta {

// Checks a TorchScript archive and makes it anew from the parts that a network
// consists of: "version", "data.pkl" (the module), "constants.pkl",
// "data/<key>" and "constants/<key>" (their storages), "code/<path>.py". What
// else lies in the archive (places in the original source, extra files) is left
// out. Returns pieces of uint8 that one after another are a zip archive of
// stored members; the large ones share the mapped file where they can.
//
// LibTorch trusts an archive; so this looks first at what can be seen without
// running it: the zip archive and every checksum, that the pickles are well
// formed and name nothing but tensors, plain values and the archive's own
// classes, and that every tensor lies within its storage. It does not make a
// TorchScript file harmless: the code in it is a program, see
// models/torchscript.h.
//
// Throws Error(kBadFormat) for damage, Error(kUnsupported) for what no network
// needs, Error(kNotFound) if there is no file.
std::vector<Array> read_torchscript_archive(const std::filesystem::path& path);

// The same from memory, which the result shares; `subject` is named in
// messages.
std::vector<Array> parse_torchscript_archive(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject);

}  // namespace sotta
