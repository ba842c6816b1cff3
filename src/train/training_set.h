#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "sotta/core/progress.h"
#include "sotta/data/dataset.h"

namespace sotta {

// All images to train on, on the device that trains: decoded once, as bytes,
// each with the black border that its views are cut from.
struct TrainingSet {
  at::Tensor images;  // uint8 [N, C, H + 2 padding, W + 2 padding]
  at::Tensor labels;  // int64 [N]
  int64_t classes = 0;
  int64_t padding = 0;

  int64_t size() const { return images.size(0); }
  ImageShape shape() const;  // without the border
};

// Throws Error(kInvalid) outside 0 .. 4096.
void check_padding(int64_t padding);

// The most bytes a training set may take unless the caller says otherwise.
constexpr int64_t kTrainingSetBytes = int64_t{16} << 30;

// Reads a dataset in pieces, telling `progress` how far it is. Throws
// Error(kUnsupported) before reading anything if it would take more than
// `max_bytes`, Error(kInvalid) if it holds no image or the padding is out of
// range, Error(kIo) if the callback asks to stop; otherwise what the dataset
// throws.
TrainingSet load_training_set(const Dataset& data, int64_t padding,
                              at::Device device,
                              int64_t max_bytes = kTrainingSetBytes,
                              const ProgressCallback& progress = {});

}  // namespace sotta
