#include "gpu/download.h"

#include <cstdint>

#include <ATen/ops/cat.h>

namespace sotta {
namespace {

bool is_elsewhere(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_cpu();
}

}  // namespace

std::vector<at::Tensor> download(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> rows;
  for (const auto& tensor : tensors)
    if (is_elsewhere(tensor)) rows.push_back(tensor.reshape({-1}));
  at::Tensor here;
  if (!rows.empty()) here = (rows.size() == 1 ? rows[0] : at::cat(rows)).cpu();

  std::vector<at::Tensor> results;
  int64_t begin = 0;
  for (const auto& tensor : tensors) {
    if (!is_elsewhere(tensor)) {
      results.push_back(tensor.defined() ? tensor.contiguous() : tensor);
      continue;
    }
    results.push_back(
        here.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
  return results;
}

}  // namespace sotta
