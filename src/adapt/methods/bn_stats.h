#pragma once

#include <cstdint>
#include <memory>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// BN Stats (Nado et al., Evaluating Prediction-Time Batch Normalization, 2020):
// the source model, normalised with the statistics of the images it is given
// together. Nothing is carried over from one call to the next, and the
// statistics are not mixed with those of the source. It has no options.
struct BnStatsOptions {
  static BnStatsOptions preset(Preset, int64_t) { return {}; }

  template <class Visitor>
  void visit(Visitor&&) {}
};

std::unique_ptr<Method> make_bn_stats(const MethodContext& context,
                                      const BnStatsOptions& options);

}  // namespace sotta
