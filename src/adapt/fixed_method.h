#pragma once

#include <memory>

#include "sotta/adapt/method.h"

namespace sotta {

// A method that predicts with the source model under the given statistics and
// never learns.
std::unique_ptr<Method> make_fixed_method(const MethodContext& context,
                                          NormStats stats);

}  // namespace sotta
