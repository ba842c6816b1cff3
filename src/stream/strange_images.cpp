#include "stream/strange_images.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

#include "core/draw.h"

namespace sotta {
namespace {

constexpr int64_t kBlankImages = int64_t{1} << 40;  // hardly ever met twice
constexpr int64_t kPieces = 4;                      // along a side

class BlankDataset : public Dataset {
 public:
  BlankDataset(const Rng& rng, const ImageShape& shape)
      : rng_(rng), shape_(shape) {}

  int64_t size() const override { return kBlankImages; }
  int64_t classes() const override { return 1; }
  ImageShape shape() const override { return shape_; }
  LabelledImages get(const std::vector<int64_t>& indices) const override {
    check_indices(indices);
    const auto count = static_cast<int64_t>(indices.size());
    const at::Tensor images = at::empty(
        {count, shape_.channels, shape_.height, shape_.width}, at::kByte);
    for (int64_t i = 0; i < count; ++i) {
      Rng rng =
          rng_.child(static_cast<uint64_t>(indices[static_cast<size_t>(i)]));
      for (int64_t c = 0; c < shape_.channels; ++c)
        images[i][c].fill_(rng.below(256));
    }
    return {images, at::zeros({count}, at::kLong)};
  }

 private:
  Rng rng_;
  ImageShape shape_;
};

// Another dataset's images, changed one by one.
class DerivedDataset : public Dataset {
 public:
  explicit DerivedDataset(std::shared_ptr<const Dataset> target)
      : target_(std::move(target)) {}

  int64_t size() const override { return target_->size(); }
  int64_t classes() const override { return target_->classes(); }
  ImageShape shape() const override { return target_->shape(); }
  LabelledImages get(const std::vector<int64_t>& indices) const override {
    LabelledImages found = target_->get(indices);
    const at::Tensor images = at::empty_like(found.images);
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      images[row].copy_(derive(found.images[row], indices[i]));
    }
    return {images, found.labels};
  }
  at::Tensor labels() const override { return target_->labels(); }

 private:
  virtual at::Tensor derive(const at::Tensor& image, int64_t index) const = 0;

  std::shared_ptr<const Dataset> target_;
};

class InvertedDataset : public DerivedDataset {
 public:
  using DerivedDataset::DerivedDataset;

 private:
  at::Tensor derive(const at::Tensor& image, int64_t) const override {
    return image.bitwise_not();
  }
};

class ShuffledDataset : public DerivedDataset {
 public:
  ShuffledDataset(const Rng& rng, std::shared_ptr<const Dataset> target)
      : DerivedDataset(std::move(target)), rng_(rng) {
    require(std::min(shape().height, shape().width) >= kPieces, "shuffled",
            "expected images with sides of at least 4 pixels");
  }

 private:
  at::Tensor derive(const at::Tensor& image, int64_t index) const override {
    const int64_t height = image.size(1) / kPieces;
    const int64_t width = image.size(2) / kPieces;
    const auto piece = [&](const at::Tensor& of, int64_t place) {
      return of.narrow(1, place / kPieces * height, height)
          .narrow(2, place % kPieces * width, width);
    };
    at::Tensor mixed = image.clone();
    const std::vector<int64_t> from =
        draw_without_replacement(kPieces * kPieces, kPieces * kPieces,
                                 rng_.child(static_cast<uint64_t>(index)));
    for (size_t place = 0; place < from.size(); ++place)
      piece(mixed, static_cast<int64_t>(place))
          .copy_(piece(image, from[place]));
    return mixed;
  }

  Rng rng_;
};

}  // namespace

std::shared_ptr<const Dataset> blank_images(const Rng& rng,
                                            const ImageShape& shape) {
  return std::make_shared<BlankDataset>(rng, shape);
}

std::shared_ptr<const Dataset> inverted_images(
    const Rng&, std::shared_ptr<const Dataset> target) {
  return std::make_shared<InvertedDataset>(std::move(target));
}

std::shared_ptr<const Dataset> shuffled_images(
    const Rng& rng, std::shared_ptr<const Dataset> target) {
  return std::make_shared<ShuffledDataset>(rng, std::move(target));
}

}  // namespace sotta
