#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "gpu/kernels/norm_pack.cuh"
#include "gpu/kernels/norm_pass.h"

// What the kernels are given, from the tensors of a pass.

namespace sotta::norm_rows {

template <class Value>
Value* data(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<Value>() : nullptr;
}

// Where a pass runs: the input's device, the thread's stream there.
struct Place {
  explicit Place(const at::Tensor& input)
      : guard(input.device()),
        stream(c10::cuda::getCurrentCUDAStream(input.device().index())) {}
  c10::cuda::CUDAGuard guard;
  cudaStream_t stream;
};

// `rows` is how many values a channel has.
inline Statistics statistics_of(const NormForward& pass, int64_t rows) {
  const auto& vectors = pass.vectors;
  const auto count = static_cast<double>(rows);
  return {data<float>(vectors.running_mean),
          data<float>(vectors.running_var),
          count,
          pass.batch_share,
          pass.blended ? 1
          : count > 1  ? count / (count - 1)
                       : 0,
          data<float>(vectors.batch_mean),
          data<float>(vectors.batch_var),
          data<float>(pass.trace.mean),
          data<float>(pass.trace.inverse_std),
          data<float>(pass.trace.batch_mean)};
}

template <class Value>
AfterChannels<Value> after_channels(const NormForward& pass) {
  return {data<Value>(pass.residual), pass.relu, data<Value>(pass.output),
          data<KeptBits>(pass.kept)};
}

template <class Value>
Incoming<Value> incoming(const NormBackward& pass) {
  return {data<Value>(pass.gradient), data<Value>(pass.second_gradient),
          data<KeptBits>(pass.kept)};
}

inline BackFormula back_formula(const NormBackward& pass, int64_t rows) {
  return {data<float>(pass.scale), data<float>(pass.trace.inverse_std),
          data<float>(pass.trace.batch_mean),
          static_cast<float>(pass.batch_share / static_cast<double>(rows))};
}

}  // namespace sotta::norm_rows
