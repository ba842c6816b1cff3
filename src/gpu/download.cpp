#include "gpu/download.h"

#include <cstdint>

#include <ATen/ops/cat.h>

namespace sotta {

std::vector<at::Tensor> download(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> rows;
  for (const auto& tensor : tensors)
    if (tensor.defined()) rows.push_back(tensor.reshape({-1}));
  if (rows.empty()) return tensors;

  const at::Tensor here = (rows.size() == 1 ? rows[0] : at::cat(rows)).cpu();
  std::vector<at::Tensor> results;
  int64_t begin = 0;
  for (const auto& tensor : tensors) {
    if (!tensor.defined()) {
      results.emplace_back();
      continue;
    }
    results.push_back(
        here.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
  return results;
}

}  // namespace sotta
