#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sotta/core/rng.h"
#include "sotta/gpu/device.h"
#include "sotta/models/classifier.h"
#include "sotta/models/normalisation.h"

namespace sotta {

// What a network that has a name is made for.
struct NetworkTask {
  int64_t classes = 10;
  int64_t channels = 3;
  int64_t height = 32;  // of the images; of a ViT alone they matter
  int64_t width = 32;
};

// One of our own networks, to be trained from scratch.
struct NamedNetwork {
  // A state to start training from.
  std::function<ModelState(Rng)> random_state;

  // The network with this state as its source.
  std::function<std::unique_ptr<Classifier>(
      const ModelState&, const Normalisation&, const DeviceSettings&)>
      make;
};

// Those of resnet_names(), wide_resnet_names() and vit_names().
std::vector<std::string> network_names();

// `width` is the channels of the first stage, to which others keep their ratio,
// or a ViT's dimension; 0: the network's own. Throws Error(kInvalid) for an
// unknown name, and for widths and images that the network cannot have.
NamedNetwork named_network(const std::string& name, const NetworkTask& task,
                           int64_t width = 0);

}  // namespace sotta
