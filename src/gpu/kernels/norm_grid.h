#pragma once

#include <c10/core/Device.h>

#include "gpu/kernels/norm_pass.h"

namespace sotta {

// The passes of norm_rows.h in one kernel each, where three would be short and
// the next one's start most of their time: forward with a batch's own
// statistics, and back. For what fits into the registers of the whole GPU,
// 64 images of ResNet18-CIFAR at most.

// Return false, with nothing done, if the pass or the GPU is not of that kind,
// or the GPU is shared (SharedDevice). A forward pass that is given its sums
// needs no GPU of its own: its blocks do not wait for each other.
bool run_at_once(const NormForward& pass);
bool run_at_once(const NormBackward& pass);

// Of a GPU; those with 128 or more have room for the kernels. 0 if this build
// has none.
int multiprocessors(at::Device device);

}  // namespace sotta
