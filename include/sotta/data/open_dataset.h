#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "sotta/data/dataset.h"

namespace sotta {

// Opens a split of a dataset of the catalogue (catalog.h) from its published
// files under the data root. CIFAR files may hold any whole number of records,
// so that a part of the training set serves as well.
//
// Throws Error: kInvalid for an unknown name or split, kNotFound for a missing
// file and kBadFormat for a damaged one, naming the file, what was expected and
// where it comes from; kUnsupported for datasets that are only listed.
std::unique_ptr<Dataset> open_dataset(const std::string& name,
                                      const std::filesystem::path& root,
                                      const std::string& split = "test");

}  // namespace sotta
