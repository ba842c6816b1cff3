#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of TENT (Wang et al., ICLR 2021): the entropy of the predictions,
// minimised over the scales and shifts of all norm layers. Defaults are those
// of the CIFAR experiments of TENT and of SoTTA.
struct TentOptions {
  // 1e-3 up to 100 classes; 2.5e-4 above, as for ImageNet.
  double learning_rate = 1e-3;

  // "adam" up to 100 classes, "sgd" above.
  std::string optimiser = "adam";

  // Share of the last step kept; of "sgd" only. TENT's own is 0.9; SoTTA's
  // published code had none.
  double momentum = 0.9;

  // TENT has none. SoTTA's published code applied 5e-4 on CIFAR.
  double weight_decay = 0;

  // Divide the entropy by the number of classes, as SoTTA's code did at first.
  bool entropy_per_class = false;

  static TentOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("learning_rate", learning_rate, "of the optimiser");
    v("optimiser", optimiser, "adam or sgd");
    v("momentum", momentum, "of sgd");
    v("weight_decay", weight_decay, "of the optimiser");
    v("entropy_per_class", entropy_per_class,
      "divide the entropy by the number of classes");
  }
};

void validate(const TentOptions& options);

// Throws Error(kInvalid) if an option is out of range.
std::unique_ptr<Method> make_tent(const MethodContext& context,
                                  const TentOptions& options);

}  // namespace sotta
