#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "gpu/kernels/norm_pass.h"

namespace sotta {

// The passes of norm_pass.h on a GPU, where a pixel's channels lie side by
// side: tensors are rows of channels, floats or bfloat16, and vectors floats.
// Sums are taken in the same order on every GPU that has room for the kernels
// of norm_grid.h and is not shared, and on every other.

// Whether this build and these passes take the input.
bool has_norm_rows(const at::Tensor& input);

// The same for a convolution's output that is not there yet.
bool has_norm_rows(int64_t channels, at::ScalarType type);

// Room for NormForward::kept: a bit per value, a byte per pack of 16 bytes.
at::Tensor empty_kept(const at::Tensor& input);

// Without a trace if only running averages are used and nothing goes back.
void run_rows(const NormForward& pass);
void run_rows(const NormBackward& pass);

}  // namespace sotta
