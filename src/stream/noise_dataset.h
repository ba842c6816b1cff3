#pragma once

#include <cstdint>
#include <vector>

#include "sotta/core/rng.h"
#include "sotta/data/dataset.h"

namespace sotta {

// Images of uniform noise: every byte of image i is drawn evenly from 0 .. 255
// by the stream's child i when the image is asked for. Nothing is stored, and
// an image depends on its index alone. All have label 0 of one class.
class NoiseDataset : public Dataset {
 public:
  // Throws Error(kInvalid) if the size or a dimension is below 1.
  NoiseDataset(const Rng& rng, const ImageShape& shape, int64_t size);

  int64_t size() const override { return size_; }
  int64_t classes() const override { return 1; }
  ImageShape shape() const override { return shape_; }
  LabelledImages get(const std::vector<int64_t>& indices) const override;

 private:
  Rng rng_;
  ImageShape shape_;
  int64_t size_;
};

}  // namespace sotta
