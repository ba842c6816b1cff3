#pragma once

#include <cstdint>
#include <memory>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of EATA (Niu et al., ICML 2022). Defaults are those of its CIFAR-10
// experiments, which SoTTA's follow; symbols are the paper's.
struct EataOptions {
  // Only predictions with an entropy below this are learned from (E0): 0.4 ln K
  // for K classes.
  double entropy_margin = 0.9210340371976183;

  // ... and only those whose cosine similarity to the moving average of what
  // was learned from is below this (epsilon): 0.4 up to 100 classes, 0.05
  // above. 2 takes them all.
  double redundancy_margin = 0.4;

  // Share of the old in each update of that average. EATA's alpha of 0.1 is the
  // share of the new.
  double probability_momentum = 0.9;

  // Weight of what holds the parameters near the source (beta): 1 up to 100
  // classes, 2000 above. 0 lets go of them (the paper's ETA) and needs no
  // source images.
  double fisher_weight = 1;

  // How many of MethodContext::source_images the Fisher information is taken
  // from, or all if there are fewer, and how many at a time. EATA's own: 2000
  // clean test images.
  int64_t fisher_samples = 2000;
  int64_t fisher_batch = 64;

  // SGD's: 5e-3 up to 100 classes, 2.5e-4 above.
  double learning_rate = 5e-3;
  double momentum = 0.9;

  // EATA has none. SoTTA's published code applied 5e-4 on CIFAR.
  double weight_decay = 0;

  static EataOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("entropy_margin", entropy_margin, "entropy below which is reliable");
    v("redundancy_margin", redundancy_margin,
      "similarity to the average prediction below which is new");
    v("probability_momentum", probability_momentum,
      "share of the old in the average prediction");
    v("fisher_weight", fisher_weight, "pull towards the source parameters");
    v("fisher_samples", fisher_samples,
      "source images for the Fisher information");
    v("fisher_batch", fisher_batch, "how many of them at a time");
    v("learning_rate", learning_rate, "of SGD");
    v("momentum", momentum, "of SGD");
    v("weight_decay", weight_decay, "of SGD");
  }
};

void validate(const EataOptions& options);

// Takes the Fisher information from the source images; which of them is drawn
// from the stream "fisher". Throws Error(kInvalid) if an option is out of range
// or there are no source images to take it from.
std::unique_ptr<Method> make_eata(const MethodContext& context,
                                  const EataOptions& options);

}  // namespace sotta
