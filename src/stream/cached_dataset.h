#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "sotta/data/dataset.h"

namespace sotta {

// Another dataset that is costly to read: keeps every image that was read once,
// as bytes in one block of memory.
class CachedDataset : public Dataset {
 public:
  explicit CachedDataset(std::shared_ptr<const Dataset> images);

  int64_t size() const override { return images_->size(); }
  int64_t classes() const override { return images_->classes(); }
  ImageShape shape() const override { return images_->shape(); }
  LabelledImages get(const std::vector<int64_t>& indices) const override;
  at::Tensor labels() const override { return labels_; }

 private:
  std::vector<int64_t> missing(const std::vector<int64_t>& indices) const;
  void keep(const std::vector<int64_t>& indices,
            const at::Tensor& images) const;

  std::shared_ptr<const Dataset> images_;
  at::Tensor labels_;

  // Whoever has seen under the lock that an image is kept may read it without:
  // it is not written again.
  at::Tensor kept_;  // uint8 [size, C, H, W]
  mutable std::mutex mutex_;
  mutable std::vector<bool> is_kept_;
};

}  // namespace sotta
