#include "nn/parallel_loop.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

namespace sotta {

// Not at::parallel_for: a template, it only has threads in code that is itself
// compiled with OpenMP. An iterator's loop is inside LibTorch; its position in
// a tensor of bytes is the index.
void parallel_loop(int64_t count, const std::function<void(int64_t)>& work) {
  at::Tensor indices = at::empty({count}, at::kByte);
  const auto* first = static_cast<const char*>(indices.data_ptr());
  at::TensorIterator::nullary_op(indices).for_each(
      [&](char** data, const int64_t*, int64_t size) {
        for (int64_t i = 0; i < size; ++i)
          work(*data - first + i);
      },
      /*grain_size=*/1);
}

}  // namespace sotta
