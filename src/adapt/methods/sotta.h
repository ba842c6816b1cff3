#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of SoTTA (Gong et al., NeurIPS 2023). Defaults are those of the
// paper's CIFAR10-C experiments; section numbers refer to the paper. Its parts
// are independent switches: every row of the ablation tables is a setting.
struct SottaOptions {
  // A sample enters the memory only if its top softmax probability reaches this
  // (C0, section 3.1). 0 keeps everything. kAutoConfidence works it out from
  // the source images or, without any, from the number of classes.
  double min_confidence = 0.99;
  static constexpr double kAutoConfidence = -1;

  // What the memory keeps: "hus" (confident and class-balanced), "hus_cleared"
  // (emptied after each update), "confident_fifo" (the last confident ones),
  // "uniform_class" (balanced, any confidence) or "fifo" (the last ones).
  std::string memory = "hus";

  // Samples kept for one update. More give steadier statistics and slower
  // updates.
  int64_t memory_capacity = 64;

  // Take the gradient at the sharpest point nearby (section 3.2)?
  bool sharpness = true;

  // How far away that point is (rho). The paper's appendix says 0.5; its main
  // text and its code 0.05.
  double sharpness_radius = 0.05;

  // Norm layers whose name contains this keep their scales and shifts: the
  // paper's code freezes "layer4". "auto" means the last stage, "" none.
  std::string frozen = "auto";

  // Share of the new statistics in each update of the running averages (m).
  double stats_momentum = 0.2;

  // Updates of the running averages per step: 2 as in the published code, where
  // both passes of the sharpness step update them; 1 as the text reads.
  int64_t stats_updates = 2;

  // Adam's. The paper never mentions weight decay; its code applied 5e-4.
  double learning_rate = 1e-3;
  double weight_decay = 0;

  // Divide the entropy by the number of classes, as the code did at first.
  bool entropy_per_class = false;

  static SottaOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("min_confidence", min_confidence,
      "lowest confidence that enters the memory, -1 for automatic");
    v("memory", memory,
      "hus, hus_cleared, confident_fifo, uniform_class or fifo");
    v("memory_capacity", memory_capacity, "samples kept for one update");
    v("sharpness", sharpness, "take the gradient at the sharpest point nearby");
    v("sharpness_radius", sharpness_radius, "how far that point is");
    v("frozen", frozen, "norm layers that stay: part of their name, or auto");
    v("stats_momentum", stats_momentum, "share of the new statistics");
    v("stats_updates", stats_updates, "updates of the statistics per step");
    v("learning_rate", learning_rate, "of Adam");
    v("weight_decay", weight_decay, "of Adam");
    v("entropy_per_class", entropy_per_class,
      "divide the entropy by the number of classes");
  }
};

// Options of SoTTA as it is to be deployed (docs/methods/screened_sotta.md):
// the paper's, and two parts that are not in it, each a switch.
struct ScreenedSottaOptions : SottaOptions {
  // Keep out what a LookScreen finds foreign?
  bool screen = true;
  double screen_gap = 5.5;
  double screen_familiarity = 0.93;
  double screen_drift = 1.1;

  // Learn once for as many images that are not foreign as a window has, so that
  // foreign ones change neither what is learnt nor how often?
  bool screen_pace = true;

  // Until the memory is full for the first time, predict with the averages of
  // all that came, and learn nothing?
  bool warm_start = true;

  // So many samples of a stream, 256 at the most, are predicted with their
  // call's statistics in these averages, and those after them with what came
  // before: an image's prediction must not depend on images beside it, which
  // somebody may have made for that. -1: all, until the memory alone gives the
  // statistics.
  int64_t warm_own = 64;

  // As many samples as the shipped averages count for among them.
  double warm_prior = 8;

  // Updates over which the memory's statistics take the place of these
  // averages; 0: at once.
  int64_t warm_updates = 32;

  static ScreenedSottaOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    SottaOptions::visit(v);
    v("screen", screen, "keep out images of a foreign look");
    v("screen_gap", screen_gap, "gap between looks, in deviations");
    v("screen_familiarity", screen_familiarity,
      "share of the target's information that foreign images stay below");
    v("screen_drift", screen_drift, "factor by which their statistics drift");
    v("screen_pace", screen_pace,
      "learn once per window of images that are not foreign");
    v("warm_start", warm_start, "average statistics until the memory is full");
    v("warm_own", warm_own,
      "samples predicted with their own statistics in them, -1 for all");
    v("warm_prior", warm_prior, "samples the shipped averages count for");
    v("warm_updates", warm_updates,
      "updates until the memory alone gives the statistics");
  }
};

void validate(const SottaOptions& options);
void validate(const ScreenedSottaOptions& options);

// Throws Error(kInvalid) if an option is out of range.
std::unique_ptr<Method> make_sotta(const MethodContext& context,
                                   const SottaOptions& options);
std::unique_ptr<Method> make_screened_sotta(
    const MethodContext& context, const ScreenedSottaOptions& options);

}  // namespace sotta
