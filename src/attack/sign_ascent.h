#pragma once

#include "sotta/attack/attack.h"

#include "attack/trial_updates.h"

namespace sotta {

// Where in a window the two sides stand; all on the model's device.
struct Sides {
  at::Tensor malicious;  // int64: the rows the attacker changes
  at::Tensor targets;    // int64: the rows that are to be misclassified
  at::Tensor labels;     // int64: the true classes of the targets

  bool empty() const { return malicious.numel() == 0 || targets.numel() == 0; }
};

Sides find_sides(const AttackWindow& window, at::Device device);

// What the attack raises the loss of.
struct Victim {
  ModelState state;
  NormStats stats;
};

// The victim that a mode looks at when `images` is the window.
Victim find_victim(const Adapter& adapter, TrialUpdates& trials,
                   const at::Tensor& images, const AttackOptions& options);

// The attack by its gradient, whether that is known to be zero or not. Neither
// side may be empty.
AttackResult ascend(const Adapter& adapter, TrialUpdates& trials,
                    const AttackWindow& window, const AttackOptions& options);

}  // namespace sotta
