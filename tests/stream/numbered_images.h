#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include "sotta/data/dataset.h"
#include "sotta/stream/stream_plan.h"
#include "sotta/stream/stream_sources.h"

namespace sotta::testing {

// Images [3, 1, 1] whose pixels are the number of their set and, in two bytes,
// their index in it: they say where they come from. Labels go 0, 1, ...,
// classes-1, 0, ...
inline std::shared_ptr<const Dataset> numbered_images(int64_t size, int set,
                                                      int64_t classes = 10) {
  const at::Tensor index = at::arange(size, at::kLong);
  const at::Tensor pixels = at::cat({at::full({size, 1}, set, at::kLong),
                                     index.bitwise_right_shift(8).unsqueeze(1),
                                     index.bitwise_and(255).unsqueeze(1)},
                                    1);
  return std::make_shared<TensorDataset>(
      LabelledImages{pixels.to(at::kByte).view({size, 3, 1, 1}),
                     index.remainder(classes)},
      classes, "numbered images");
}

constexpr int kForeignSet = 200;

// Domains d0, d1, ... of target images, sets 0, 1, ..., and a foreign set.
inline StreamSources numbered_sources(int64_t targets, int64_t foreign = 100,
                                      int domains = 1, int64_t classes = 10) {
  StreamSources sources;
  sources.name = "numbers";
  for (int d = 0; d < domains; ++d)
    sources.domains.push_back(
        {"d" + std::to_string(d), numbered_images(targets, d, classes)});
  sources.foreign = numbered_images(foreign, kForeignSet);
  return sources;
}

// Whether two plans hold the same samples in the same order.
inline bool same_samples(const StreamPlan& a, const StreamPlan& b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i)
    if (a[i].origin != b[i].origin || a[i].domain != b[i].domain ||
        a[i].index != b[i].index || a[i].label != b[i].label)
      return false;
  return true;
}

}  // namespace sotta::testing
