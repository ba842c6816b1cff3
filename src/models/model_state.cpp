#include "sotta/models/model_state.h"

namespace sotta {

ModelState ModelState::clone_norm() const {
  return {body, affine.clone(), running_mean.clone(), running_var.clone()};
}

ModelState ModelState::clone() const {
  ModelState copy = clone_norm();
  copy.body = body.clone();
  return copy;
}

ModelState ModelState::to(at::Device device) const {
  return {body.to(device), affine.to(device), running_mean.to(device),
          running_var.to(device)};
}

}  // namespace sotta
