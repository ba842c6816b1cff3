#pragma once

#include <cstdint>
#include <memory>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of CoTTA (Wang et al., CVPR 2022): a student with all its weights
// learns from a slow teacher, and forgets a little at every step. Defaults are
// those of SoTTA's experiments on CIFAR10-C.
struct CottaOptions {
  // Where the source model is less confident than this, on average over the
  // images at hand, the teacher's answer is averaged over augmented views
  // (p_th). SoTTA's paper has 0.92, 0.72 and 0.1 for 10, 100 and 1000 classes.
  double anchor_confidence = 0.92;

  // How many views (CoTTA's paper, section 3.2).
  int64_t augmentations = 32;

  // Share of itself that the teacher keeps at every update (alpha).
  double teacher_momentum = 0.999;

  // Probability that a weight of the student returns to its source value after
  // an update (p). CoTTA's authors use 0.001 on ImageNet; SoTTA's 0.01 on all.
  double restore_probability = 0.01;

  // Adam's. CoTTA's authors use SGD at 0.01 on ImageNet, and no weight decay;
  // the code behind SoTTA's tables decayed by 5e-4 on CIFAR.
  double learning_rate = 1e-3;
  double weight_decay = 0;

  static CottaOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("anchor_confidence", anchor_confidence,
      "source confidence below which views are averaged");
    v("augmentations", augmentations, "augmented views in that average");
    v("teacher_momentum", teacher_momentum,
      "share of itself that the teacher keeps");
    v("restore_probability", restore_probability,
      "chance of a weight to return to its source value");
    v("learning_rate", learning_rate, "of Adam");
    v("weight_decay", weight_decay, "of Adam");
  }
};

void validate(const CottaOptions& options);

// Throws Error(kInvalid) if an option is out of range, or if the network's
// images are neither grey nor of three colours: others cannot be augmented.
std::unique_ptr<Method> make_cotta(const MethodContext& context,
                                   const CottaOptions& options);

}  // namespace sotta
