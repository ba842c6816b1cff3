#include "train/epoch_plan.h"

#include <numeric>
#include <utility>

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include "gpu/upload.h"

namespace sotta {
namespace {

// A vector of Value, filled on the CPU by `fill(values)`.
template <class Value, class Fill>
at::Tensor drawn(int64_t count, at::Device device, const Fill& fill) {
  const at::Tensor values =
      at::empty({count}, c10::CppTypeToScalarType<Value>::value);
  fill(values.template data_ptr<Value>());
  return upload(values, device);
}

at::Tensor shuffled(int64_t count, Rng rng, at::Device device) {
  return drawn<int64_t>(count, device, [&](int64_t* order) {
    std::iota(order, order + count, int64_t{0});
    for (int64_t i = count - 1; i > 0; --i)
      std::swap(order[i], order[rng.below(i + 1)]);
  });
}

at::Tensor below(int64_t count, int64_t bound, Rng rng, at::Device device) {
  return drawn<int64_t>(count, device, [&](int64_t* values) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = rng.below(bound);
  });
}

at::Tensor coins(int64_t count, bool any, Rng rng, at::Device device) {
  return drawn<bool>(count, device, [&](bool* values) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = any && rng.below(2) == 1;
  });
}

}  // namespace

EpochPlan EpochPlan::select(const at::Tensor& places) const {
  return {order.index_select(0, places), rows.index_select(0, places),
          columns.index_select(0, places), changes.select(places)};
}

void EpochPlan::copy_from(const EpochPlan& other) {
  order.copy_(other.order);
  rows.copy_(other.rows);
  columns.copy_(other.columns);
  changes.copy_from(other.changes);
}

EpochPlan plan_of(const Crops& crops, const ImageShape& shape) {
  const at::Tensor y = at::arange(shape.height, crops.top.options());
  const at::Tensor x = at::arange(shape.width, crops.left.options());
  const at::Tensor mirrored =
      at::where(crops.flip.unsqueeze(1), shape.width - 1 - x, x);
  return {crops.order,
          crops.top.unsqueeze(1) + y,
          crops.left.unsqueeze(1) + mirrored,
          {}};
}

EpochPlan draw_epoch(const TrainingSet& set, const TrainOptions& options,
                     int64_t epoch) {
  const auto stream = [&](const char* name) {
    return Rng(static_cast<uint64_t>(options.seed))
        .child(name)
        .child(static_cast<uint64_t>(epoch));
  };
  const int64_t count = set.size(), places = 2 * set.padding + 1;
  const at::Device device = set.images.device();
  EpochPlan plan = plan_of({shuffled(count, stream("shuffle"), device),
                            below(count, places, stream("crop_top"), device),
                            below(count, places, stream("crop_left"), device),
                            coins(count, options.flip, stream("flip"), device)},
                           set.shape());
  plan.changes = draw_changes(set.shape(), count, options, epoch, device);
  return plan;
}

at::Tensor cut_views(const TrainingSet& set, const EpochPlan& plan) {
  const int64_t n = plan.order.size(0);
  const at::Tensor channels =
      at::arange(set.images.size(1), plan.order.options());
  return set.images.index(
      {plan.order.view({n, 1, 1, 1}), channels.view({1, -1, 1, 1}),
       plan.rows.view({n, 1, -1, 1}), plan.columns.view({n, 1, 1, -1})});
}

}  // namespace sotta
