#pragma once

#include <memory>
#include <vector>

#include "sotta/data/dataset.h"

namespace sotta {

// Another dataset's images at another size and number of channels, converted
// when they are read, byte for byte as Pillow does it: first grey to RGB (three
// equal channels) or RGB to grey (its luma), then a bilinear resize without
// regard to ratio.
class FittedDataset : public Dataset {
 public:
  // Throws Error(kInvalid) unless both have one channel or three.
  FittedDataset(std::shared_ptr<const Dataset> images, const ImageShape& shape);

  int64_t size() const override { return images_->size(); }
  int64_t classes() const override { return images_->classes(); }
  ImageShape shape() const override { return shape_; }
  LabelledImages get(const std::vector<int64_t>& indices) const override;
  at::Tensor labels() const override { return images_->labels(); }

 private:
  std::shared_ptr<const Dataset> images_;
  ImageShape shape_;
};

bool same_shape(const ImageShape& a, const ImageShape& b);

}  // namespace sotta
