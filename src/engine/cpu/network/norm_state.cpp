#include "engine/cpu/network/norm_state.h"

#include <algorithm>
#include <cmath>

#include "nn/batch_norm.h"

namespace sotta::engine {

NormState::NormState(int64_t channels)
    : channels_(channels),
      rows_(7 * channels),
      inverse_std_(channels),
      batch_mean_(channels) {}

void NormState::set_forward(int64_t c, const NormPointers& input, double mean,
                            double var) {
  const double inverse_std = 1 / std::sqrt(var + kNormEpsilon);
  const double factor = static_cast<double>(input.scale[c]) * inverse_std;
  inverse_std_.data()[c] = inverse_std;
  row(0)[c] = static_cast<float>(factor);
  row(1)[c] =
      static_cast<float>(static_cast<double>(input.shift[c]) - mean * factor);
  row(2)[c] = static_cast<float>(mean);
}

const float* NormState::centre(const NormPointers& input) {
  std::copy_n(input.running_mean, channels_, row(6));
  return row(6);
}

void NormState::use_running(const NormPointers& input) {
  share_ = 0;
  for (int64_t c = 0; c < channels_; ++c) {
    batch_mean_.data()[c] = 0;
    set_forward(c, input, static_cast<double>(input.running_mean[c]),
                static_cast<double>(input.running_var[c]));
  }
}

void NormState::use_batch(const NormPointers& input, NormStats stats,
                          const double* sums, const double* squares,
                          double count) {
  const bool blended = stats.source == NormStats::Source::kBlended;
  share_ = blended ? stats.batch_share : 1;
  count_ = count;
  for (int64_t c = 0; c < channels_; ++c) {
    const auto running_mean = static_cast<double>(input.running_mean[c]);
    const auto running_var = static_cast<double>(input.running_var[c]);
    const double distance = sums[c] / count;
    const double mean = running_mean + distance;
    const double var = std::max(squares[c] / count - distance * distance, 0.0);
    batch_mean_.data()[c] = mean;
    const double used_mean = running_mean + share_ * (mean - running_mean);
    const double used_var = running_var + share_ * (var - running_var);
    set_forward(c, input, used_mean, used_var);
    const double unbiased = count > 1 ? var * count / (count - 1) : 0;
    input.batch_mean[c] = static_cast<float>(used_mean);
    input.batch_var[c] = static_cast<float>(blended ? used_var : unbiased);
  }
}

// The formulas stand at NormBackward (gpu/kernels/norm_pass.h).
void NormState::set_backward(const double* sums, const double* products,
                             float* scale_gradient, float* shift_gradient) {
  for (int64_t c = 0; c < channels_; ++c) {
    const double r = inverse_std_.data()[c];
    const auto factor = static_cast<double>(row(0)[c]);  // scale * r
    const double to_mean = -factor * sums[c];
    const double to_var = -0.5 * factor * r * r * products[c];
    const double slope = 2 * share_ / count_ * to_var;
    scale_gradient[c] = static_cast<float>(products[c] * r);
    shift_gradient[c] = static_cast<float>(sums[c]);
    row(3)[c] = static_cast<float>(factor);
    row(4)[c] = static_cast<float>(slope);
    row(5)[c] = static_cast<float>(share_ / count_ * to_mean -
                                   slope * batch_mean_.data()[c]);
  }
}

}  // namespace sotta::engine
