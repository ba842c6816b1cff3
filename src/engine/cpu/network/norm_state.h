#pragma once

#include <cstdint>

#include "sotta/nn/norm_stats.h"

#include "engine/cpu/buffer.h"

namespace sotta::engine {

// A norm layer's vectors in a forward pass; pointers to its first channel.
struct NormInput {
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* running_mean = nullptr;
  const float* running_var = nullptr;
  float* batch_mean = nullptr;  // written with batch or blended statistics
  float* batch_var = nullptr;
};

// What one norm layer does in one pass, as factors per channel: forward
// output = factor * input + offset, backward
// input gradient = gradient_factor * output gradient
//                + gradient_slope * input + gradient_offset.
class NormState {
 public:
  explicit NormState(int64_t channels);

  // Takes the running averages.
  void use_running(const NormInput& input);

  // Takes sums over `count` inputs of x - running mean and of its square, as
  // the statistics sink found them; see batch_norm() for what they become.
  void use_batch(const NormInput& input, NormStats stats, const double* sums,
                 const double* squares, double count);

  // From sums of the output's gradient g and of g * (x - mean()), the gradients
  // of the layer's scale and shift.
  void go_back(const double* sums, const double* products,
               float* scale_gradient, float* shift_gradient);

  // The running mean, about which the statistics sink takes its sums. Copied to
  // where vectors may be loaded from: the caller's are not aligned.
  const float* centre(const NormInput& input);

  const float* factor() const { return row(0); }
  const float* offset() const { return row(1); }
  const float* mean() const { return row(2); }  // that normalised
  const float* gradient_factor() const { return row(3); }
  const float* gradient_slope() const { return row(4); }
  const float* gradient_offset() const { return row(5); }

  int64_t channels() const { return channels_; }

 private:
  float* row(int64_t index) const { return rows_.data() + index * channels_; }
  void set_forward(int64_t c, const NormInput& input, double mean, double var);

  int64_t channels_;
  FloatBuffer rows_;
  Buffer<double> inverse_std_;
  Buffer<double> batch_mean_;
  double share_ = 0;  // of the batch in the statistics
  double count_ = 1;
};

}  // namespace sotta::engine
