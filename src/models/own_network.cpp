#include "models/own_network.h"

namespace sotta {
namespace {

const ModelState& checked(const NetworkTensors& tensors,
                          const ModelState& state,
                          const Normalisation& normalisation,
                          const DeviceSettings& settings) {
  check_precision(settings.precision, state.body.device());
  tensors.check(state, "network");
  check_normalisation(normalisation);
  return state;
}

}  // namespace

OwnNetwork::OwnNetwork(const NetworkTensors& tensors, const ModelState& state,
                       const Normalisation& normalisation,
                       const DeviceSettings& settings)
    : tensors_(tensors),
      source_(checked(tensors, state, normalisation, settings)),
      normalisation_(normalisation),
      input_(normalisation, source_.body),
      settings_(settings),
      shared_(settings.shared) {}

at::ScalarType OwnNetwork::type_for(const ModelState& state) const {
  return settings_.precision == Precision::kBfloat16 ? at::kBFloat16
                                                     : state.body.scalar_type();
}

}  // namespace sotta
