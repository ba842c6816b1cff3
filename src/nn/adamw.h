#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "sotta/nn/optimiser.h"

namespace sotta {

// Loshchilov and Hutter, Decoupled Weight Decay Regularization (2019): Adam,
// and apart from it `weight_decay` times the rate times the parameters taken
// off them. As torch.optim.AdamW.
struct AdamWOptions {
  double learning_rate = 1e-3;  // at least 0
  double weight_decay = 1e-2;   // at least 0
  double beta1 = 0.9;           // memory of the mean gradient, 0 to below 1
  double beta2 = 0.999;         // memory of its square, 0 to below 1
  double epsilon = 1e-8;        // keeps the quotient finite, above 0
};

// `mask` is make_adam()'s. `decayed` has the parameters' shape: 1 where they
// decay, 0 where not; undefined: all do. For schedules: `rate`, one float on
// the parameters' device, takes the place of options.learning_rate and is read
// anew at each step. Throws Error(kInvalid) for options out of range.
//
// State: first_moment and second_moment.
std::unique_ptr<Optimiser> make_adamw(const AdamWOptions& options,
                                      at::Tensor mask = {},
                                      at::Tensor decayed = {},
                                      at::Tensor rate = {});

}  // namespace sotta
