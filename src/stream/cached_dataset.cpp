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
      state_(static_cast<size_t>(images_->size()), Image::kMissing) {
  const ImageShape each = shape();
  // The system gives the memory when it is first written to.
  kept_ =
      at::empty({size(), each.channels, each.height, each.width}, at::kByte);
}

LabelledImages CachedDataset::get(const std::vector<int64_t>& indices) const {
  check_indices(indices);
  // What another thread has claimed and failed to read is missing again.
  do
    read(claim(indices));
  while (!wait_for(indices));
  const at::Tensor rows = at::tensor(indices, at::kLong);
  return {kept_.index_select(0, rows), labels_.index_select(0, rows)};
}

std::vector<int64_t> CachedDataset::claim(
    const std::vector<int64_t>& indices) const {
  std::vector<int64_t> claimed;
  const std::lock_guard lock(mutex_);
  for (const int64_t index : indices) {
    Image& image = state_[static_cast<size_t>(index)];
    if (image != Image::kMissing) continue;
    image = Image::kBeingRead;
    claimed.push_back(index);
  }
  std::sort(claimed.begin(), claimed.end());
  return claimed;
}

void CachedDataset::read(const std::vector<int64_t>& claimed) const {
  if (claimed.empty()) return;
  try {
    const at::Tensor pixels = images_->get(claimed).images.contiguous();
    const auto bytes = static_cast<size_t>(kept_.numel() / size());
    const auto* from = pixels.data_ptr<uint8_t>();
    auto* to = kept_.data_ptr<uint8_t>();
    for (const int64_t index : claimed) {
      std::memcpy(to + static_cast<size_t>(index) * bytes, from, bytes);
      from += bytes;
    }
  } catch (...) {
    mark(claimed, Image::kMissing);
    throw;
  }
  mark(claimed, Image::kKept);
}

void CachedDataset::mark(const std::vector<int64_t>& indices, Image as) const {
  {
    const std::lock_guard lock(mutex_);
    for (const int64_t index : indices)
      state_[static_cast<size_t>(index)] = as;
  }
  changed_.notify_all();
}

bool CachedDataset::wait_for(const std::vector<int64_t>& indices) const {
  std::unique_lock lock(mutex_);
  const auto all_are = [&](const auto& holds) {
    return std::all_of(indices.begin(), indices.end(), [&](int64_t index) {
      return holds(state_[static_cast<size_t>(index)]);
    });
  };
  changed_.wait(lock, [&] {
    return all_are([](Image image) { return image != Image::kBeingRead; });
  });
  return all_are([](Image image) { return image == Image::kKept; });
}

}  // namespace sotta
