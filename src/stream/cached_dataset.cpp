#include "stream/cached_dataset.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

namespace sotta {

CachedDataset::CachedDataset(std::shared_ptr<const Dataset> images)
    : images_(std::move(images)),
      labels_(images_->labels()),
      is_kept_(static_cast<size_t>(images_->size())) {
  const ImageShape each = shape();
  // The system gives the memory when it is first written to.
  kept_ =
      at::empty({size(), each.channels, each.height, each.width}, at::kByte);
}

LabelledImages CachedDataset::get(const std::vector<int64_t>& indices) const {
  check_indices(indices);
  // Two threads may make the same image; both make the same bytes.
  const auto needed = missing(indices);
  if (!needed.empty()) keep(needed, images_->get(needed).images);
  const at::Tensor rows = at::tensor(indices, at::kLong);
  return {kept_.index_select(0, rows), labels_.index_select(0, rows)};
}

std::vector<int64_t> CachedDataset::missing(
    const std::vector<int64_t>& indices) const {
  std::vector<int64_t> needed;
  const std::lock_guard lock(mutex_);
  for (const int64_t index : indices)
    if (!is_kept_[static_cast<size_t>(index)]) needed.push_back(index);
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  return needed;
}

void CachedDataset::keep(const std::vector<int64_t>& indices,
                         const at::Tensor& images) const {
  const at::Tensor pixels = images.contiguous();
  const auto bytes = static_cast<size_t>(kept_.numel() / size());
  const auto* from = pixels.data_ptr<uint8_t>();
  auto* to = kept_.data_ptr<uint8_t>();
  const std::lock_guard lock(mutex_);
  for (const int64_t index : indices) {
    const auto row = static_cast<size_t>(index);
    if (!is_kept_[row]) std::memcpy(to + row * bytes, from, bytes);
    is_kept_[row] = true;
    from += bytes;
  }
}

}  // namespace sotta
