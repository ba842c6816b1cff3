#include "adapt/methods/source.h"

#include "adapt/fixed_method.h"

namespace sotta {

std::unique_ptr<Method> make_source(const MethodContext& context,
                                    const SourceOptions&) {
  return make_fixed_method(context, NormStats::running());
}

}  // namespace sotta
