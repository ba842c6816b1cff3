#include "sotta/data/dataset.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

void check_range(int64_t begin, int64_t end, int64_t size) {
  require(0 <= begin && begin <= end && end <= size, "Dataset",
          "expected a range within 0 .. " + std::to_string(size) + ", got " +
              std::to_string(begin) + " .. " + std::to_string(end));
}

}  // namespace

LabelledImages Dataset::range(int64_t begin, int64_t end) const {
  check_range(begin, end, size());
  std::vector<int64_t> indices(static_cast<size_t>(end - begin));
  std::iota(indices.begin(), indices.end(), begin);
  return get(indices);
}

at::Tensor Dataset::labels() const {
  // Few at a time: the images that come along are not kept.
  constexpr int64_t kChunk = 256;
  const at::Tensor labels = at::empty({size()}, at::kLong);
  for (int64_t begin = 0; begin < size(); begin += kChunk) {
    const int64_t end = std::min(begin + kChunk, size());
    labels.slice(0, begin, end).copy_(range(begin, end).labels);
  }
  return labels;
}

void Dataset::check_indices(const std::vector<int64_t>& indices) const {
  for (const int64_t index : indices)
    if (index < 0 || index >= size())
      fail(ErrorKind::kInvalid, "Dataset",
           "expected an index within 0 .. " + std::to_string(size() - 1) +
               ", got " + std::to_string(index));
}

TensorDataset::TensorDataset(LabelledImages data, int64_t classes,
                             const std::string& name)
    : data_(std::move(data)), classes_(classes) {
  const auto& [images, labels] = data_;
  require(images.dim() == 4 && images.scalar_type() == at::kByte, name,
          "expected uint8 images [N, C, H, W]");
  require(labels.dim() == 1 && labels.scalar_type() == at::kLong, name,
          "expected int64 labels [N]");
  require(images.size(0) == labels.size(0), name,
          "expected one label per image, got " +
              std::to_string(images.size(0)) + " images and " +
              std::to_string(labels.size(0)) + " labels");
  if (labels.size(0) == 0) return;
  const auto lowest = labels.min().item<int64_t>();
  const auto highest = labels.max().item<int64_t>();
  require(lowest >= 0 && highest < classes, name,
          "expected labels within 0 .. " + std::to_string(classes - 1) +
              ", got " + std::to_string(lowest < 0 ? lowest : highest));
}

int64_t TensorDataset::size() const {
  return data_.images.size(0);
}

ImageShape TensorDataset::shape() const {
  return {data_.images.size(1), data_.images.size(2), data_.images.size(3)};
}

LabelledImages TensorDataset::get(const std::vector<int64_t>& indices) const {
  check_indices(indices);
  const at::Tensor rows = at::tensor(indices, at::kLong);
  return {data_.images.index_select(0, rows),
          data_.labels.index_select(0, rows)};
}

LabelledImages TensorDataset::range(int64_t begin, int64_t end) const {
  check_range(begin, end, size());
  return {data_.images.slice(0, begin, end), data_.labels.slice(0, begin, end)};
}

}  // namespace sotta
