#pragma once

#include <cstdint>
#include <memory>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of PL: pseudo-labels (Lee, Pseudo-Label, 2013) at test time, on the
// scales and shifts of all norm layers. Defaults are those of SoTTA's
// experiments, which have the same ones for every dataset.
struct PseudoLabelOptions {
  // Adam's. SoTTA's published code decayed the weights by 5e-4 on CIFAR.
  double learning_rate = 1e-3;
  double weight_decay = 0;

  static PseudoLabelOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("learning_rate", learning_rate, "of Adam");
    v("weight_decay", weight_decay, "of Adam");
  }
};

void validate(const PseudoLabelOptions& options);

// Throws Error(kInvalid) if an option is out of range.
std::unique_ptr<Method> make_pseudo_label(const MethodContext& context,
                                          const PseudoLabelOptions& options);

}  // namespace sotta
