#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sotta/gpu/device.h"
#include "sotta/models/classifier.h"

#include "gpu/device_queue.h"
#include "models/network_tensors.h"
#include "models/pixel_input.h"

namespace sotta {

// What LibTorch computes of our own networks in common: everything but the
// forward pass.
class OwnNetwork : public Classifier {
 public:
  // Throws Error(kInvalid) if the state's vectors or the normalisation do not
  // fit, Error(kUnsupported) for a precision that the device does not have.
  OwnNetwork(const NetworkTensors& tensors, const ModelState& state,
             const Normalisation& normalisation,
             const DeviceSettings& settings);

  const ModelState& source() const override { return source_; }
  int64_t channels() const override { return input_.channels(); }
  std::string engine() const override { return "libtorch"; }
  DeviceSettings device_settings() const override { return settings_; }
  const std::vector<NormLayer>& norm_layers() const override {
    return tensors_.norms;
  }
  const Normalisation& normalisation() const override { return normalisation_; }
  NamedTensors named_tensors(const ModelState& state) const override {
    return tensors_.named(state);
  }

  // What the tensors' names and shapes do not say of the network, for the
  // metadata of a weights file.
  virtual std::map<std::string, std::string> metadata() const { return {}; }

 protected:
  const NetworkTensors& tensors() const { return tensors_; }
  const PixelInput& input() const { return input_; }

  // What convolutions and products are computed in.
  at::ScalarType type_for(const ModelState& state) const;

 private:
  NetworkTensors tensors_;
  ModelState source_;
  Normalisation normalisation_;
  PixelInput input_;
  DeviceSettings settings_;
  SharedDevice shared_;
};

}  // namespace sotta
