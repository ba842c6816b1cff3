#include "attack/trial_updates.h"

namespace sotta {

TrialUpdates::TrialUpdates(Adapter& adapter, bool keep_traces)
    : adapter_(adapter), keep_traces_(keep_traces) {}

// A copy of what a method changes: of most only the norm layers.
ModelState TrialUpdates::copy(const ModelState& state) const {
  const bool own_body = !state.body.is_same(adapter_.model().source().body);
  return own_body ? state.clone() : state.clone_norm();
}

TrialUpdates::Outcome TrialUpdates::run(const at::Tensor& images) {
  const Method& method = adapter_.method();
  if (before_.tensors.empty()) {
    if (!adapter_.keeps_state())
      return {method.state(), method.trained_state()};
    before_ = adapter_.snapshot();
  }

  adapter_.rehearse(images);
  ++count_;
  const Outcome outcome{copy(method.state()), copy(method.trained_state())};
  adapter_.take_back(before_, keep_traces_);
  return outcome;
}

}  // namespace sotta
