#pragma once

#include <memory>
#include <string>

#include "sotta/core/rng.h"

#include "models/named_network.h"

namespace sotta::bench {

// A network of this name for colour images, with random weights: as fast as a
// trained one.
inline std::unique_ptr<Classifier> random_network(
    const std::string& name, int64_t classes = 10,
    at::Device device = at::Device(at::kCPU),
    const DeviceSettings& settings = {}) {
  NetworkTask task;
  task.classes = classes;
  const NamedNetwork network = named_network(name, task);
  return network.make(network.random_state(Rng(0)).to(device),
                      {{0.49, 0.48, 0.45}, {0.25, 0.24, 0.26}}, settings);
}

}  // namespace sotta::bench
