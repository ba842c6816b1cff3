#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/models/weights.h"

#include "tests/support/golden.h"

namespace sotta::testing {

// Options with which a method does its full work from the first window on: its
// memory, if it has one, is full.
inline OptionMap with_full_memory(const std::string& method) {
  OptionMap changes;
  if (method == "rotta" || method == "sotta" || method == "screened_sotta")
    changes["memory_capacity"] = int64_t{16};
  if (method == "rotta") changes["quota_first"] = false;
  if (method == "sotta" || method == "screened_sotta")
    changes["min_confidence"] = 0.0;
  if (method == "screened_sotta") changes["warm_own"] = int64_t{0};
  return changes;
}

// A method on the golden network and the golden stream, all on one device.
struct Adapting {
  static constexpr int64_t kWindow = 16;
  static constexpr int64_t kWindows = 6;

  Adapting(const std::string& method, at::Device device,
           bool cuda_graphs = false, const OptionMap& changes = {}) {
    const Golden stream("methods/stream");
    images = stream["images"].to(device);
    LoadOptions options;
    options.device = device;
    MethodContext context;
    context.model =
        make_classifier(Golden("methods/network").file(), options, "network");
    context.update_interval = kWindow;
    context.executor =
        std::make_shared<Executor>(context.model, ExecutorOptions{cuda_graphs});
    context.source_images = stream["fisher_clean"].to(device);
    adapter = make_adapter(method, context, Preset::kClean, changes);
  }

  // The stream comes over and over.
  at::Tensor window(int64_t w) const {
    return images.narrow(0, w % kWindows * kWindow, kWindow);
  }

  std::unique_ptr<Adapter> adapter;
  at::Tensor images;
};

}  // namespace sotta::testing
