#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "sotta/data/dataset.h"

namespace sotta {

// Another dataset that is costly to read: keeps every image that was read once,
// as bytes in one block of memory. Of threads that want the same image at the
// same time one reads it, and the others wait.
class CachedDataset : public Dataset {
 public:
  explicit CachedDataset(std::shared_ptr<const Dataset> images);

  int64_t size() const override { return images_->size(); }
  int64_t classes() const override { return images_->classes(); }
  ImageShape shape() const override { return images_->shape(); }
  LabelledImages get(const std::vector<int64_t>& indices) const override;
  at::Tensor labels() const override { return labels_; }

 private:
  enum class Image : uint8_t { kMissing, kBeingRead, kKept };

  // Those that are missing, which are then this thread's to read.
  std::vector<int64_t> claim(const std::vector<int64_t>& indices) const;
  void read(const std::vector<int64_t>& claimed) const;
  void mark(const std::vector<int64_t>& indices, Image as) const;

  // Returns when nobody reads any of these any more; whether all are kept.
  bool wait_for(const std::vector<int64_t>& indices) const;

  std::shared_ptr<const Dataset> images_;
  at::Tensor labels_;

  // Whoever has seen under the lock that an image is kept may read it without:
  // it is not written again.
  at::Tensor kept_;  // uint8 [size, C, H, W]
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<Image> state_;
};

}  // namespace sotta
