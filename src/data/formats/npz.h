#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "sotta/data/array.h"

namespace sotta {

// NumPy's .npz archives, plain (savez) or compressed (savez_compressed): the
// arrays by name, without the ".npy" their members end in. Arrays of a plain
// archive share the mapped file where their alignment allows.
//
// Throws Error(kBadFormat) for a damaged archive or array, Error(kUnsupported)
// for what read_npy (npy.h) refuses and, in a build without zlib, for
// compressed members.
std::map<std::string, Array> read_npz(const std::filesystem::path& path);

// The same from memory, which the result shares; `subject` is named in
// messages.
std::map<std::string, Array> parse_npz(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject);

}  // namespace sotta
