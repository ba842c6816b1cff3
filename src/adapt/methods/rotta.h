#pragma once

#include <cstdint>
#include <memory>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of RoTTA (Yuan et al., CVPR 2023): a slow teacher predicts, and a
// student learns from it on a balanced memory of recent, certain samples.
// Defaults are the authors'; SoTTA's experiments use the same on all datasets.
struct RottaOptions {
  // Samples kept for one update; also the time in which a sample ages.
  int64_t memory_capacity = 64;

  // Hold every class to its quota, capacity / classes, at all times, as RoTTA's
  // authors do. The code behind SoTTA's tables looked at quotas only once the
  // memory was full.
  bool quota_first = true;

  // Share of the batch in the norm layers' statistics (alpha).
  double batch_share = 0.05;

  // Share of itself that the teacher keeps at every update (1 - nu).
  double teacher_momentum = 0.999;

  // Adam's, without weight decay.
  double learning_rate = 1e-3;

  static RottaOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("memory_capacity", memory_capacity, "samples kept for one update");
    v("quota_first", quota_first,
      "hold classes to their quota before the memory is full, too");
    v("batch_share", batch_share, "share of the batch in the statistics");
    v("teacher_momentum", teacher_momentum,
      "share of itself that the teacher keeps");
    v("learning_rate", learning_rate, "of Adam");
  }
};

void validate(const RottaOptions& options);

// Throws Error(kInvalid) if an option is out of range, or if the network's
// images are neither grey nor of three colours: others cannot be augmented.
std::unique_ptr<Method> make_rotta(const MethodContext& context,
                                   const RottaOptions& options);

}  // namespace sotta
