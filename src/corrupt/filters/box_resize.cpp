#include "corrupt/filters/box_resize.h"

#include <algorithm>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

namespace sotta {
namespace {

constexpr double kOne = 0x1p22;  // weights are multiples of 1 / kOne

// The source samples of output sample `index`: all count alike.
std::vector<int64_t> members_of(int64_t index, int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(scale, 1.0);
  const double centre = (static_cast<double>(index) + 0.5) * scale;
  const auto begin = static_cast<int64_t>(centre - width / 2 + 0.5);
  const auto end = static_cast<int64_t>(centre + width / 2 + 0.5);
  std::vector<int64_t> members;
  for (int64_t i = std::max<int64_t>(begin, 0); i < std::min(end, from); ++i) {
    const double place = (static_cast<double>(i) - centre + 0.5) / width;
    if (place > -0.5 && place <= 0.5) members.push_back(i);
  }
  return members;
}

// float64 [from, to], in units of 1 / kOne.
at::Tensor weight_matrix(int64_t from, int64_t to) {
  const at::Tensor weights = at::zeros({from, to}, at::kDouble);
  auto* entries = weights.data_ptr<double>();
  for (int64_t out = 0; out < to; ++out) {
    const auto members = members_of(out, from, to);
    const auto weight =
        static_cast<int64_t>(0.5 + kOne / static_cast<double>(members.size()));
    for (const int64_t in : members)
      entries[in * to + out] = static_cast<double>(weight);
  }
  return weights;
}

// Whole numbers far below 2^53: the product is exact in any order.
at::Tensor resize_rows(const at::Tensor& images, const at::Tensor& weights) {
  return ((images.matmul(weights) + kOne / 2) * (1 / kOne)).floor_();
}

}  // namespace

at::Tensor box_resize(const at::Tensor& images, int64_t side) {
  const at::Tensor weights =
      weight_matrix(images.size(-1), side).to(images.device());
  const at::Tensor narrow = resize_rows(images.to(at::kDouble), weights);
  const at::Tensor turned = narrow.transpose(-1, -2).contiguous();
  return resize_rows(turned, weights)
      .transpose(-1, -2)
      .to(at::kByte)
      .contiguous();
}

}  // namespace sotta
