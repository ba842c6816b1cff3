#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sotta/corrupt/corruption.h"
#include "sotta/data/dataset.h"

namespace sotta {

// Another dataset's images, corrupted when they are asked for. The index of an
// image seeds its draws, so an image is the same whenever it is read.
class CorruptedDataset : public Dataset {
 public:
  // Throws as Corruption does, and Error(kInvalid) for images that are not
  // square.
  CorruptedDataset(std::shared_ptr<const Dataset> clean,
                   const CorruptionOptions& options);

  int64_t size() const override { return clean_->size(); }
  int64_t classes() const override { return clean_->classes(); }
  ImageShape shape() const override { return clean_->shape(); }
  LabelledImages get(const std::vector<int64_t>& indices) const override;
  at::Tensor labels() const override { return clean_->labels(); }

 private:
  std::shared_ptr<const Dataset> clean_;
  Corruption corruption_;
};

// One severity's rows of CIFAR-10-C or CIFAR-100-C, the published corruptions
// of the evaluation images of a dataset, if KIND.npy and labels.npy lie under
// the data root; null if not. Throws Error(kBadFormat) for damaged files,
// Error(kInvalid) for a severity outside 1 to 5.
std::unique_ptr<Dataset> open_published_corruption(
    const std::string& name, const std::filesystem::path& root,
    const std::string& kind, int64_t severity);

}  // namespace sotta
