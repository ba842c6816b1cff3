#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of SAR (Niu et al., ICLR 2023). Defaults are its own, for ResNets
// with batch norm; symbols are the paper's. Both presets are the same: SoTTA's
// published code has SAR as its authors do.
struct SarOptions {
  // Only predictions with an entropy below this are learned from (E0): 0.4 ln K
  // for K classes.
  double entropy_margin = 0.9210340371976183;

  // How far away the sharpest point is that the gradient is taken at (rho).
  // SoTTA's appendix says 0.5; its code and SAR 0.05.
  double sharpness_radius = 0.05;

  // When the moving average of the loss falls below this, the model has likely
  // collapsed and its parameters go back to the source (e0). 0 never does.
  double reset_threshold = 0.2;

  // Share of the old in each update of that average.
  double ema_momentum = 0.9;

  // Norm layers whose name contains this keep their scales and shifts: SAR's
  // code freezes "layer4". "auto" means the last stage, "" none.
  std::string frozen = "auto";

  // SGD's.
  double learning_rate = 2.5e-4;
  double momentum = 0.9;

  static SarOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("entropy_margin", entropy_margin, "entropy below which is reliable");
    v("sharpness_radius", sharpness_radius, "how far the sharpest point is");
    v("reset_threshold", reset_threshold,
      "moving loss below which the parameters go back to the source");
    v("ema_momentum", ema_momentum, "share of the old in the moving loss");
    v("frozen", frozen, "norm layers that stay: part of their name, or auto");
    v("learning_rate", learning_rate, "of SGD");
    v("momentum", momentum, "of SGD");
  }
};

void validate(const SarOptions& options);

// Throws Error(kInvalid) if an option is out of range.
std::unique_ptr<Method> make_sar(const MethodContext& context,
                                 const SarOptions& options);

}  // namespace sotta
