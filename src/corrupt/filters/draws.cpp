#include "corrupt/filters/draws.h"

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>

#include "sotta/core/threads.h"

namespace sotta {
namespace {

constexpr int64_t kDrawsPerTask = int64_t{1} << 16;

Draws split_fields(const at::Tensor& values,
                   const std::vector<std::vector<int64_t>>& fields) {
  Draws draws;
  int64_t begin = 0;
  for (const auto& field : fields) {
    const int64_t count = c10::multiply_integers(field);
    std::vector<int64_t> shape = {values.size(0)};
    shape.insert(shape.end(), field.begin(), field.end());
    draws.push_back(values.narrow(1, begin, count).reshape(shape));
    begin += count;
  }
  return draws;
}

}  // namespace

Draws draw_for_images(const CorruptionKind& kind, const Rng& rng,
                      const std::vector<int64_t>& indices, at::Device device) {
  const auto fields = kind.fields();
  if (fields.empty()) return {};
  int64_t per_image = 0;
  for (const auto& field : fields)
    per_image += c10::multiply_integers(field);

  const auto images = static_cast<int64_t>(indices.size());
  const at::Tensor values = at::empty(
      {images, per_image},
      at::TensorOptions().dtype(at::kDouble).pinned_memory(device.is_cuda()));
  auto* first = values.data_ptr<double>();
  const int64_t at_once = std::max<int64_t>(1, kDrawsPerTask / per_image);
  const int64_t tasks = (images + at_once - 1) / at_once;
  run_in_threads(tasks, at::get_num_threads(), [&](int64_t task) {
    const int64_t end = std::min(images, (task + 1) * at_once);
    for (int64_t i = task * at_once; i < end; ++i) {
      Rng stream = rng.child(static_cast<uint64_t>(indices[i]));
      kind.draw(stream, first + i * per_image);
    }
  });
  return split_fields(values.to(device, /*non_blocking=*/true), fields);
}

}  // namespace sotta
