#include "adapt/methods/bn_stats.h"

#include "adapt/fixed_method.h"

namespace sotta {

std::unique_ptr<Method> make_bn_stats(const MethodContext& context,
                                      const BnStatsOptions&) {
  return make_fixed_method(context, NormStats::batch());
}

}  // namespace sotta
