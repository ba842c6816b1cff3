#pragma once

#include <cstdint>

#include "sotta/nn/norm_stats.h"

#include "engine/cpu/buffer.h"

namespace sotta::engine {

// A norm layer's vectors in a forward pass; pointers to its first channel.
struct NormPointers {
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* running_mean = nullptr;
  const float* running_var = nullptr;
  float* batch_mean = nullptr;  // written with batch or blended statistics
  float* batch_var = nullptr;
};

// What one batch-norm layer does in one pass, as vectors with a number per
// channel, which prologues and epilogues apply:
//
//   forward    output = factor * input + offset
//   backward   input gradient = gradient_factor * output gradient
//                             + gradient_slope * input + gradient_offset
//
// The forward vectors are known once the statistics of the input are, the
// backward ones once two sums over the output's gradient are (norm_state.cpp
// has the formulas). Computed in double.
class NormState {
 public:
  explicit NormState(int64_t channels);

  // Sets the forward vectors from the running averages.
  void use_running(const NormPointers& input);

  // Sets the forward vectors from sums over `count` inputs of x - running mean
  // and of its square, which Epilogue::Kind::kStatistics takes. Writes
  // batch_mean and batch_var as batch_norm() does.
  void use_batch(const NormPointers& input, NormStats stats, const double* sums,
                 const double* squares, double count);

  // Sets the backward vectors from sums of the output's gradient g and of
  // g * (x - mean()); writes the gradients of the layer's scale and shift.
  void set_backward(const double* sums, const double* products,
                    float* scale_gradient, float* shift_gradient);

  // The running mean, about which the statistics' sums are taken. A copy: the
  // caller's vectors are not aligned.
  const float* centre(const NormPointers& input);

  const float* factor() const { return row(0); }
  const float* offset() const { return row(1); }
  const float* mean() const { return row(2); }  // of the statistics in use
  const float* gradient_factor() const { return row(3); }
  const float* gradient_slope() const { return row(4); }
  const float* gradient_offset() const { return row(5); }

  int64_t channels() const { return channels_; }

 private:
  float* row(int64_t index) const { return rows_.data() + index * channels_; }
  void set_forward(int64_t c, const NormPointers& input, double mean,
                   double var);

  int64_t channels_;
  FloatBuffer rows_;
  Buffer<double> inverse_std_;
  Buffer<double> batch_mean_;
  double share_ = 0;  // of the batch in the statistics
  double count_ = 1;
};

}  // namespace sotta::engine
