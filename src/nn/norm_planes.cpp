#include "nn/norm_planes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/channel_statistics.h"
#include "nn/parallel_loop.h"

namespace sotta {
namespace {

// Values worked on at once: they stay in the nearest cache.
constexpr int64_t kBlock = 512;

// Enough independent sums to fill any vector unit.
constexpr int64_t kLanes = 16;

// Calls work(plane, where, count) for every block of every plane, in parallel.
template <class Work>
void each_block(const Planes& planes, const Work& work) {
  parallel_loop(planes.count(), [&](int64_t plane) {
    for (int64_t i = 0; i < planes.size; i += kBlock)
      work(plane, plane * planes.size + i, std::min(kBlock, planes.size - i));
  });
}

template <class Value>
Value* data(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<Value>() : nullptr;
}

// As at::lerp: exact at both ends.
float lerp(float from, float to, float share) {
  return share < 0.5f ? from + share * (to - from)
                      : to - (1 - share) * (to - from);
}

// Fills the trace, and hands out what batch_norm() says.
void find_statistics(const NormForward& pass, const Planes& planes) {
  const auto& vectors = pass.vectors;
  std::vector<Moments> batch;
  if (pass.uses_batch) batch = channel_moments(data<float>(pass.input), planes);
  const auto share = static_cast<float>(pass.batch_share);
  const double count = planes.values_per_channel();
  const double to_unbiased = pass.blended ? 1
                             : count > 1  ? count / (count - 1)
                                          : 0;
  for (int64_t c = 0; c < planes.channels; ++c) {
    float mean = data<float>(vectors.running_mean)[c];
    float var = data<float>(vectors.running_var)[c];
    data<float>(pass.trace.batch_mean)[c] = mean;
    if (!batch.empty()) {
      const Moments& found = batch[static_cast<size_t>(c)];
      const auto batch_mean = static_cast<float>(found.mean);
      data<float>(pass.trace.batch_mean)[c] = batch_mean;
      mean = lerp(mean, batch_mean, share);
      var = lerp(var, static_cast<float>(found.var), share);
      data<float>(vectors.batch_mean)[c] = mean;
      data<float>(vectors.batch_var)[c] = static_cast<float>(var * to_unbiased);
    }
    data<float>(pass.trace.mean)[c] = mean;
    data<float>(pass.trace.inverse_std)[c] =
        1 / std::sqrt(var + static_cast<float>(kNormEpsilon));
  }
}

struct ChannelSums {
  double gradient = 0;  // sum of dL/dy
  double centred = 0;   // sum of dL/dy * (x - mean)
};

ChannelSums sum_block(const float* gradient, const float* input, int64_t count,
                      float mean) {
  ChannelSums sums;
  float plain[kLanes] = {}, centred[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) {
      plain[k] += gradient[i + k];
      centred[k] += gradient[i + k] * (input[i + k] - mean);
    }
  for (; i < count; ++i) {
    sums.gradient += gradient[i];
    sums.centred += gradient[i] * (input[i] - mean);
  }
  for (int64_t k = 0; k < kLanes; ++k) {
    sums.gradient += plain[k];
    sums.centred += centred[k];
  }
  return sums;
}

// The gradient behind the ReLU.
void let_through(const NormBackward& pass, int64_t where, int64_t count,
                 float* values) {
  std::copy_n(data<float>(pass.gradient) + where, count, values);
  if (const float* second = data<float>(pass.second_gradient))
    for (int64_t i = 0; i < count; ++i)
      values[i] += second[where + i];
  if (!pass.kept.defined()) return;
  const uint8_t* kept = data<uint8_t>(pass.kept) + where;
  for (int64_t i = 0; i < count; ++i)
    values[i] = kept[i] != 0 ? values[i] : 0;
}

// Takes the sums over every channel; writes the residual's gradient on the way.
std::vector<ChannelSums> sum_channels(const NormBackward& pass,
                                      const Planes& planes) {
  const float* input = data<float>(pass.input);
  const float* mean = data<float>(pass.trace.mean);
  float* residual_gradient = data<float>(pass.residual_gradient);
  std::vector<ChannelSums> of_planes(static_cast<size_t>(planes.count()));
  each_block(planes, [&](int64_t plane, int64_t where, int64_t count) {
    float values[kBlock];
    let_through(pass, where, count, values);
    if (residual_gradient != nullptr)
      std::copy_n(values, count, residual_gradient + where);
    const ChannelSums sums =
        sum_block(values, input + where, count, mean[plane % planes.channels]);
    of_planes[static_cast<size_t>(plane)].gradient += sums.gradient;
    of_planes[static_cast<size_t>(plane)].centred += sums.centred;
  });
  std::vector<ChannelSums> all(static_cast<size_t>(planes.channels));
  for (size_t plane = 0; plane < of_planes.size(); ++plane) {
    all[plane % all.size()].gradient += of_planes[plane].gradient;
    all[plane % all.size()].centred += of_planes[plane].centred;
  }
  return all;
}

// dL/dx = direct * dL/dy + to_mean + to_var * (x - centre), see NormBackward.
struct InputGradient {
  float direct, to_mean, to_var, centre;
};

InputGradient input_gradient(const NormBackward& pass, const Planes& planes,
                             const ChannelSums& sums, int64_t c) {
  const double inverse_std = data<float>(pass.trace.inverse_std)[c];
  const double direct = data<float>(pass.scale)[c] * inverse_std;
  const double share = pass.batch_share / planes.values_per_channel();
  return {static_cast<float>(direct),
          static_cast<float>(-share * direct * sums.gradient),
          static_cast<float>(-share * direct * inverse_std * inverse_std *
                             sums.centred),
          data<float>(pass.trace.batch_mean)[c]};
}

}  // namespace

void run_planes(const NormForward& pass) {
  const Planes planes(pass.input);
  find_statistics(pass, planes);
  const float* input = data<float>(pass.input);
  const float* residual = data<float>(pass.residual);
  float* output = data<float>(pass.output);
  uint8_t* kept = data<uint8_t>(pass.kept);
  each_block(planes, [&](int64_t plane, int64_t where, int64_t count) {
    const int64_t c = plane % planes.channels;
    const float factor = data<float>(pass.vectors.scale)[c] *
                         data<float>(pass.trace.inverse_std)[c];
    const float offset = data<float>(pass.vectors.shift)[c] -
                         data<float>(pass.trace.mean)[c] * factor;
    float values[kBlock];
    for (int64_t i = 0; i < count; ++i)
      values[i] = input[where + i] * factor + offset;
    if (residual != nullptr)
      for (int64_t i = 0; i < count; ++i)
        values[i] += residual[where + i];
    // Comparisons that let NaN through.
    if (kept != nullptr)
      for (int64_t i = 0; i < count; ++i)
        kept[where + i] = !(values[i] <= 0);
    if (pass.relu)
      for (int64_t i = 0; i < count; ++i)
        values[i] = values[i] <= 0 ? 0 : values[i];
    std::copy_n(values, count, output + where);
  });
}

void run_planes(const NormBackward& pass) {
  const Planes planes(pass.input);
  const auto sums = sum_channels(pass, planes);
  std::vector<InputGradient> formulas;
  for (int64_t c = 0; c < planes.channels; ++c) {
    const ChannelSums& of_channel = sums[static_cast<size_t>(c)];
    data<float>(pass.shift_gradient)[c] =
        static_cast<float>(of_channel.gradient);
    data<float>(pass.scale_gradient)[c] = static_cast<float>(
        of_channel.centred * data<float>(pass.trace.inverse_std)[c]);
    formulas.push_back(input_gradient(pass, planes, of_channel, c));
  }

  float* gradient = data<float>(pass.input_gradient);
  if (gradient == nullptr) return;
  const float* input = data<float>(pass.input);
  each_block(planes, [&](int64_t plane, int64_t where, int64_t count) {
    const InputGradient dx =
        formulas[static_cast<size_t>(plane % planes.channels)];
    float values[kBlock];
    let_through(pass, where, count, values);
    for (int64_t i = 0; i < count; ++i)
      values[i] = dx.direct * values[i] + dx.to_mean +
                  dx.to_var * (input[where + i] - dx.centre);
    std::copy_n(values, count, gradient + where);
  });
}

}  // namespace sotta
