#include "adapt/methods/bn_stats.h"

#include "sotta/core/error.h"

#include "adapt/fixed_method.h"

namespace sotta {

std::unique_ptr<Method> make_bn_stats(const MethodContext& context,
                                      const BnStatsOptions&) {
  require(count_batch_norms(context.model->norm_layers()) > 0, "bn_stats",
          "needs a network with batch norm layers, this one has none");
  return make_fixed_method(context, NormStats::batch());
}

}  // namespace sotta
