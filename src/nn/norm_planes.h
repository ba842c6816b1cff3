#pragma once

#include "gpu/kernels/norm_pass.h"

namespace sotta {

// relu(norm(input) + residual) and its gradients, channel by channel with one
// pass over memory each, where tensor operations take one for the norm, one for
// the sum, one for the ReLU. What run_planes() takes are contiguous floats on
// the CPU, [N, C, H, W] or [C]; results have the same bits at any thread count.

void run_planes(const NormForward& pass);
void run_planes(const NormBackward& pass);

}  // namespace sotta
