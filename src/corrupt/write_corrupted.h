#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <c10/core/Device.h>

#include "sotta/core/progress.h"
#include "sotta/corrupt/corruption.h"
#include "sotta/data/dataset.h"

namespace sotta {

// What goes into one file.
struct CorruptedFile {
  CorruptionOptions options;        // severity is overruled by the next line
  std::vector<int64_t> severities;  // in the order of the rows
  int64_t images = 0;               // the first ones of the dataset
};

// The shape of the array: [severities * images, H, W, C].
std::vector<int64_t> corrupted_shape(const Dataset& clean,
                                     const CorruptedFile& file);

// Writes the corrupted images as CIFAR-10-C has them: one uint8 .npy file, all
// images at the first severity, then at the next. Returns false, and leaves
// nothing, if `progress` asked to stop; it counts the images of this file.
//
// Throws as Corruption, the dataset and NpyWriter do.
bool write_corrupted(const Dataset& clean, const CorruptedFile& file,
                     at::Device device, const std::filesystem::path& path,
                     const ProgressCallback& progress);

// Writes the labels of those rows: uint8 for up to 256 classes, else int64.
void write_corrupted_labels(const Dataset& clean, const CorruptedFile& file,
                            const std::filesystem::path& path);

}  // namespace sotta
