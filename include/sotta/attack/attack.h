#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of the distribution-invading attack in the form of SoTTA's
// experiments: some samples of a window are perturbed so that the others are
// misclassified. docs/attacks.md says what each mode supposes of the attacker.
struct AttackOptions {
  // Whose loss is raised: "paper" (the network after a trial update, as it
  // predicts), "surrogate" (the network as it is, with batch statistics) or
  // "adaptive" (after a trial update, through the statistics that it mixes in).
  std::string mode = "paper";

  // Largest change of a pixel, in [0, 1].
  double eps = 0.1;

  // Steps along the sign of the gradient, and the length of one.
  int64_t steps = 10;
  double step_size = 1.0 / 255;

  // Leave behind what the published code forgot to take back after a trial
  // update: optimiser moments, random streams, state beside the network.
  bool keep_traces = false;

  // For "surrogate": "adapted" are the network's weights of the moment,
  // "source" those it was shipped with.
  std::string weights = "adapted";

  // The published settings have a column for CIFAR and one for ImageNet.
  static AttackOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("attack", mode, "paper, surrogate or adaptive");
    v("attack_eps", eps, "largest change of a pixel");
    v("attack_steps", steps, "steps along the sign of the gradient");
    v("attack_step_size", step_size, "change of a pixel in one step");
    v("attack_traces", keep_traces,
      "leave the traces of trial updates that the published code leaves");
    v("attack_weights", weights,
      "of the surrogate: adapted, or source for those that were shipped");
  }
};

std::vector<std::string> attack_modes();

// Throws Error(kInvalid) naming the first field out of its range.
void validate(const AttackOptions& options);

// A window as the attacker sees it: N samples, some of them the attacker's.
struct AttackWindow {
  // uint8, or float in [0, 1], [N, C, H, W] on the model's device.
  at::Tensor images;

  // bool [N]: the samples the attacker controls. This and the labels are read
  // on the CPU: if they lie there, nothing waits for the device.
  at::Tensor malicious;

  // int64 [N]: the true classes of the samples to be misclassified; negative
  // where a sample is none of them. Those of malicious ones are not looked at.
  at::Tensor labels;
};

struct AttackResult {
  // The window to feed instead: floats in [0, 1], or the very images that were
  // given if none was changed.
  at::Tensor images;

  // What was added to each pixel before clipping to [0, 1], within -eps .. eps
  // and 0 for all that is not malicious. As `images`, in floats.
  at::Tensor perturbation;

  // [steps] on the model's device: the loss before each step. Undefined if no
  // gradient was taken.
  at::Tensor losses;

  // Updates that were tried and taken back.
  int64_t trial_updates = 0;

  // The gradient is known to be zero, so none was taken.
  bool zero_gradient = false;
};

// Perturbs the malicious samples of the window that the adapter would be given
// next. The adapter is afterwards as it was, bit for bit, unless traces are
// kept.
//
// Throws Error(kInvalid) for options out of range and windows whose parts do
// not fit each other or the model; nothing has changed then.
AttackResult craft(Adapter& adapter, const AttackWindow& window,
                   const AttackOptions& options);

}  // namespace sotta
