#pragma once

#include <cstdint>

#include "gpu/kernels/norm_pass.h"
#include "gpu/kernels/pack.cuh"

// What the kernels of norm_rows_kernels.cuh and norm_grid_kernels.cuh do to a
// channel, and to the pack of channels that a thread has of a row.

namespace sotta::norm_rows {

// Which values of a pack the ReLU let through: bit i for its i-th value. The
// packs' bytes lie as the packs do.
using KeptBits = uint8_t;
static_assert(Pack<float>::kSize <= 8 && Pack<uint16_t>::kSize <= 8);

template <class Value>
__device__ Pack<Value> read_pack(const Value* rows, int64_t place) {
  return reinterpret_cast<const Pack<Value>*>(rows)[place];
}

template <class Value>
__device__ void write_pack(const Pack<Value>& pack, Value* rows,
                           int64_t place) {
  reinterpret_cast<Pack<Value>*>(rows)[place] = pack;
}

// Two sums for each channel of a pack.
template <int kSize>
struct PackSums {
  float first[kSize] = {}, second[kSize] = {};
};

struct TwoSums {
  double first, second;
};

// Of the distances from the running average, which are small where the values
// themselves are not.
template <class Value, int kSize>
__device__ void add_input(const Pack<Value>& x, const float* running_mean,
                          PackSums<kSize>& sums) {
  for (int i = 0; i < kSize; ++i) {
    const float distance = static_cast<float>(x.values[i]) - running_mean[i];
    sums.first[i] += distance;
    sums.second[i] += distance * distance;
  }
}

struct Statistics {
  const float *running_mean, *running_var;
  double count, share, to_unbiased;
  float *batch_mean, *batch_var;              // handed out
  float *used_mean, *inverse_std, *own_mean;  // the trace
};

// From a lane's numbers to the next one's, in each kind of vector.
struct LaneSteps {
  int64_t affine, running, batch, trace;
};

__device__ inline Statistics of_lane(Statistics found, const LaneSteps& steps,
                                     int64_t lane) {
  found.running_mean += lane * steps.running;
  found.running_var += lane * steps.running;
  if (found.batch_mean != nullptr) {
    found.batch_mean += lane * steps.batch;
    found.batch_var += lane * steps.batch;
  }
  found.used_mean += lane * steps.trace;
  found.inverse_std += lane * steps.trace;
  found.own_mean += lane * steps.trace;
  return found;
}

// As at::lerp: exact at both ends.
__device__ inline float lerp_as_aten(float from, float to, float share) {
  return share < 0.5f ? from + share * (to - from)
                      : to - (1 - share) * (to - from);
}

__device__ inline float inverse_std_of(float var) {
  return rsqrtf(var + static_cast<float>(kNormEpsilon));
}

struct ChannelStatistics {
  float mean, var;  // as used
  float own_mean;
};

// Of the sums over a batch's inputs.
__device__ inline ChannelStatistics channel_statistics(const Statistics& found,
                                                       int c, TwoSums total) {
  const double off = total.first / found.count;
  const double spread = total.second / found.count - off * off;
  const auto own_mean = static_cast<float>(found.running_mean[c] + off);
  const auto own_var = static_cast<float>(spread < 0 ? 0 : spread);
  const auto share = static_cast<float>(found.share);
  return {lerp_as_aten(found.running_mean[c], own_mean, share),
          lerp_as_aten(found.running_var[c], own_var, share), own_mean};
}

__device__ inline void hand_out(const Statistics& found, int c,
                                const ChannelStatistics& channel) {
  found.batch_mean[c] = channel.mean;
  found.batch_var[c] = static_cast<float>(channel.var * found.to_unbiased);
  found.used_mean[c] = channel.mean;
  found.inverse_std[c] = inverse_std_of(channel.var);
  found.own_mean[c] = channel.own_mean;
}

struct NormChannel {
  float mean, factor, shift;
};

template <class Value>
struct AfterChannels {
  const Value* residual;  // or none
  bool relu;
  Value* output;
  KeptBits* kept;  // or none
};

template <class Value>
__device__ AfterChannels<Value> shifted(AfterChannels<Value> after,
                                        int64_t values) {
  if (after.residual != nullptr) after.residual += values;
  after.output += values;
  if (after.kept != nullptr) after.kept += values / Pack<Value>::kSize;
  return after;
}

// relu(scale * (x - mean) / std + shift + residual)
template <class Value, int kSize>
__device__ void write_normalised(const Pack<Value>& x,
                                 const Pack<Value>& residual,
                                 const NormChannel (&channels)[kSize],
                                 const AfterChannels<Value>& after,
                                 int64_t place) {
  Pack<Value> y;
  unsigned through = 0;
  for (int i = 0; i < kSize; ++i) {
    const NormChannel& channel = channels[i];
    float value =
        (static_cast<float>(x.values[i]) - channel.mean) * channel.factor +
        channel.shift;
    if (after.residual != nullptr)
      value += static_cast<float>(residual.values[i]);
    // Comparisons that let NaN through.
    if (!(value <= 0)) through |= 1u << i;
    y.values[i] = static_cast<Value>(after.relu && value <= 0 ? 0.0f : value);
  }
  write_pack(y, after.output, place);
  if (after.kept != nullptr) after.kept[place] = static_cast<KeptBits>(through);
}

template <class Value>
__device__ void keep_only(unsigned kept, Pack<Value>& values) {
  for (int i = 0; i < Pack<Value>::kSize; ++i)
    if ((kept >> i & 1u) == 0) values.values[i] = static_cast<Value>(0.0f);
}

template <class Value>
__device__ void add_pack(const Pack<Value>& more, Pack<Value>& values) {
  for (int i = 0; i < Pack<Value>::kSize; ++i)
    values.values[i] = static_cast<Value>(static_cast<float>(values.values[i]) +
                                          static_cast<float>(more.values[i]));
}

// What comes back to a norm layer.
template <class Value>
struct Incoming {
  const Value* gradient;
  const Value* second_gradient;  // to be added, or none
  const KeptBits* kept;          // or none
};

template <class Value>
__device__ Incoming<Value> shifted(Incoming<Value> incoming, int64_t values) {
  incoming.gradient += values;
  if (incoming.second_gradient != nullptr) incoming.second_gradient += values;
  if (incoming.kept != nullptr) incoming.kept += values / Pack<Value>::kSize;
  return incoming;
}

// The gradient behind the ReLU, if there is one.
template <class Value>
__device__ Pack<Value> let_through(const Incoming<Value>& incoming,
                                   int64_t place) {
  Pack<Value> values = read_pack(incoming.gradient, place);
  if (incoming.second_gradient != nullptr)
    add_pack(read_pack(incoming.second_gradient, place), values);
  if (incoming.kept != nullptr) keep_only(incoming.kept[place], values);
  return values;
}

// Of the gradient, and of the gradient times the distance from the mean.
template <class Value, int kSize>
__device__ void add_gradient(const Pack<Value>& gradient, const Pack<Value>& x,
                             const float* mean, PackSums<kSize>& sums) {
  for (int i = 0; i < kSize; ++i) {
    const auto value = static_cast<float>(gradient.values[i]);
    sums.first[i] += value;
    sums.second[i] += value * (static_cast<float>(x.values[i]) - mean[i]);
  }
}

struct AffineGradient {
  float scale, shift;
};

__device__ inline AffineGradient affine_gradient(TwoSums total,
                                                 float inverse_std) {
  return {static_cast<float>(total.second * inverse_std),
          static_cast<float>(total.first)};
}

struct BackFormula {
  const float *scale, *inverse_std, *own_mean;
  float share;  // of one value in the statistics
};

__device__ inline BackFormula of_lane(BackFormula formula,
                                      const LaneSteps& steps, int64_t lane) {
  formula.scale += lane * steps.affine;
  formula.inverse_std += lane * steps.trace;
  formula.own_mean += lane * steps.trace;
  return formula;
}

// dL/dx = direct * dL/dy + to_mean + to_var * (x - centre), see NormBackward.
struct BackChannel {
  float direct, to_mean, to_var, centre;
};

__device__ inline BackChannel back_channel(const BackFormula& formula, int c,
                                           const AffineGradient& gradient) {
  const float inverse_std = formula.inverse_std[c];
  const float direct = formula.scale[c] * inverse_std;
  return {direct, -formula.share * direct * gradient.shift,
          -formula.share * direct * inverse_std * gradient.scale,
          formula.own_mean[c]};
}

template <class Value, int kSize>
__device__ Pack<Value> propagated(const Pack<Value>& gradient,
                                  const Pack<Value>& x,
                                  const BackChannel (&channels)[kSize]) {
  Pack<Value> result;
  for (int i = 0; i < kSize; ++i) {
    const BackChannel& channel = channels[i];
    result.values[i] = static_cast<Value>(
        channel.direct * static_cast<float>(gradient.values[i]) +
        channel.to_mean +
        channel.to_var * (static_cast<float>(x.values[i]) - channel.centre));
  }
  return result;
}

}  // namespace sotta::norm_rows
