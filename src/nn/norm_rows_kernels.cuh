#pragma once

#include <cstdint>

#include "sotta/nn/batch_norm.h"

#include "nn/pack.cuh"

// The kernels of norm_rows.cu: how they are called stands there.

namespace sotta::norm_rows {

constexpr int kThreads = 256;

// Threads that add up what the blocks found: channels by parts.
constexpr int kChannels = 32;
constexpr int kParts = 32;

// Which values of a pack the ReLU let through.
template <int kSize>
struct alignas(kSize) Bytes {
  uint8_t values[kSize];
};

// Rows of channels. A thread keeps to one pack's channels and goes from row to
// row; a block's threads share `abreast` rows at a time.
struct Rows {
  int64_t count;
  int channels;
  int packs;
  int abreast;
};

// Calls work(pack's place) for the thread's pack of every row.
template <class Work>
__device__ void each_row(const Rows& rows, const Work& work) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * rows.abreast;
  int64_t row = static_cast<int64_t>(blockIdx.x) * rows.abreast +
                threadIdx.x / rows.packs;
  for (; row < rows.count; row += step)
    work(row * rows.packs + threadIdx.x % rows.packs);
}

// Adds up what the block's threads have for the same channels:
// [2, channels] at `sums`.
template <int kSize>
__device__ void write_block_sums(const float (&first)[kSize],
                                 const float (&second)[kSize], const Rows& rows,
                                 float* sums) {
  __shared__ float shared[2][kSize][kThreads];
  const int me = threadIdx.x;
  for (int i = 0; i < kSize; ++i) {
    shared[0][i][me] = first[i];
    shared[1][i][me] = second[i];
  }
  __syncthreads();
  for (int half = kThreads / 2; half >= rows.packs; half /= 2) {
    if (me < half)
      for (int i = 0; i < kSize; ++i) {
        shared[0][i][me] += shared[0][i][me + half];
        shared[1][i][me] += shared[1][i][me + half];
      }
    __syncthreads();
  }
  if (me >= rows.packs) return;
  for (int i = 0; i < kSize; ++i) {
    sums[me * kSize + i] = shared[0][i][me];
    sums[rows.channels + me * kSize + i] = shared[1][i][me];
  }
}

struct TwoSums {
  double first, second;
};

// All blocks' sums of a channel; valid in threads of threadIdx.y == 0.
__device__ TwoSums add_blocks(const float* sums, int blocks, int channels,
                              int channel) {
  __shared__ double shared[2][kParts][kChannels];
  TwoSums mine = {0, 0};
  // Most of the time goes into waiting for memory.
#pragma unroll 8
  for (int block = threadIdx.y; block < blocks && channel < channels;
       block += kParts) {
    mine.first += sums[2 * block * channels + channel];
    mine.second += sums[(2 * block + 1) * channels + channel];
  }
  for (int half = kParts / 2; half > 0; half /= 2) {
    shared[0][threadIdx.y][threadIdx.x] = mine.first;
    shared[1][threadIdx.y][threadIdx.x] = mine.second;
    __syncthreads();
    if (threadIdx.y < half) {
      mine.first += shared[0][threadIdx.y + half][threadIdx.x];
      mine.second += shared[1][threadIdx.y + half][threadIdx.x];
    }
    __syncthreads();
  }
  return mine;
}

// Of the distances from the running average, which are small where the values
// themselves are not.
template <class Value>
__global__ void sum_inputs(const Value* input, const float* running_mean,
                           Rows rows, float* sums) {
  constexpr int kSize = Pack<Value>::kSize;
  const int channel = threadIdx.x % rows.packs * kSize;
  float plain[kSize] = {}, squared[kSize] = {};
  each_row(rows, [&](int64_t place) {
    const auto x = reinterpret_cast<const Pack<Value>*>(input)[place];
    for (int i = 0; i < kSize; ++i) {
      const float distance =
          static_cast<float>(x.values[i]) - running_mean[channel + i];
      plain[i] += distance;
      squared[i] += distance * distance;
    }
  });
  write_block_sums(plain, squared, rows, sums + 2 * blockIdx.x * rows.channels);
}

struct Statistics {
  const float *running_mean, *running_var;
  double count, share, to_unbiased;
  float *batch_mean, *batch_var;              // handed out
  float *used_mean, *inverse_std, *own_mean;  // the trace
};

// As at::lerp: exact at both ends.
__device__ float lerp_as_aten(float from, float to, float share) {
  return share < 0.5f ? from + share * (to - from)
                      : to - (1 - share) * (to - from);
}

__global__ void finish_statistics(const float* sums, int blocks, int channels,
                                  Statistics found) {
  const int c = static_cast<int>(blockIdx.x) * kChannels + threadIdx.x;
  const TwoSums total = add_blocks(sums, blocks, channels, c);
  if (threadIdx.y != 0 || c >= channels) return;
  const double off = total.first / found.count;
  const double spread = total.second / found.count - off * off;
  const auto own_mean = static_cast<float>(found.running_mean[c] + off);
  const auto own_var = static_cast<float>(spread < 0 ? 0 : spread);
  const auto share = static_cast<float>(found.share);
  const float mean = lerp_as_aten(found.running_mean[c], own_mean, share);
  const float var = lerp_as_aten(found.running_var[c], own_var, share);
  found.batch_mean[c] = mean;
  found.batch_var[c] = static_cast<float>(var * found.to_unbiased);
  found.used_mean[c] = mean;
  found.inverse_std[c] = rsqrtf(var + static_cast<float>(kNormEpsilon));
  found.own_mean[c] = own_mean;
}

__global__ void trace_running(int channels, Statistics found) {
  const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (c >= channels) return;
  found.used_mean[c] = found.own_mean[c] = found.running_mean[c];
  found.inverse_std[c] =
      rsqrtf(found.running_var[c] + static_cast<float>(kNormEpsilon));
}

struct Formula {
  const float *scale, *shift, *mean;
  const float *inverse_std, *var;  // one of the two
};

// relu(scale * (x - mean) / std + shift + residual)
template <class Value>
__global__ void normalise(const Value* input, const Value* residual,
                          Formula formula, bool relu, Rows rows, Value* output,
                          uint8_t* kept) {
  constexpr int kSize = Pack<Value>::kSize;
  const int channel = threadIdx.x % rows.packs * kSize;
  float mean[kSize], factor[kSize], shift[kSize];
  for (int i = 0; i < kSize; ++i) {
    const int c = channel + i;
    mean[i] = formula.mean[c];
    shift[i] = formula.shift[c];
    factor[i] =
        formula.scale[c] *
        (formula.var == nullptr
             ? formula.inverse_std[c]
             : rsqrtf(formula.var[c] + static_cast<float>(kNormEpsilon)));
  }
  each_row(rows, [&](int64_t place) {
    const auto x = reinterpret_cast<const Pack<Value>*>(input)[place];
    Pack<Value> other, y;
    Bytes<kSize> through;
    if (residual != nullptr)
      other = reinterpret_cast<const Pack<Value>*>(residual)[place];
    for (int i = 0; i < kSize; ++i) {
      float value =
          (static_cast<float>(x.values[i]) - mean[i]) * factor[i] + shift[i];
      if (residual != nullptr) value += static_cast<float>(other.values[i]);
      // Comparisons that let NaN through.
      through.values[i] = !(value <= 0);
      y.values[i] = static_cast<Value>(relu && value <= 0 ? 0.0f : value);
    }
    reinterpret_cast<Pack<Value>*>(output)[place] = y;
    if (kept != nullptr) reinterpret_cast<Bytes<kSize>*>(kept)[place] = through;
  });
}

// The gradient behind the ReLU.
template <class Value>
__device__ void let_through(const Value* gradient, const uint8_t* kept,
                            int64_t place,
                            float (&values)[Pack<Value>::kSize]) {
  constexpr int kSize = Pack<Value>::kSize;
  const auto all = reinterpret_cast<const Pack<Value>*>(gradient)[place];
  Bytes<kSize> through;
  if (kept != nullptr)
    through = reinterpret_cast<const Bytes<kSize>*>(kept)[place];
  for (int i = 0; i < kSize; ++i)
    values[i] = kept == nullptr || through.values[i] != 0
                    ? static_cast<float>(all.values[i])
                    : 0.0f;
}

// Of the gradient, and of the gradient times the distance from the mean; writes
// the residual's gradient on the way.
template <class Value>
__global__ void sum_gradients(const Value* gradient, const Value* input,
                              const uint8_t* kept, const float* mean, Rows rows,
                              Value* residual_gradient, float* sums) {
  constexpr int kSize = Pack<Value>::kSize;
  const int channel = threadIdx.x % rows.packs * kSize;
  float plain[kSize] = {}, centred[kSize] = {};
  each_row(rows, [&](int64_t place) {
    const auto x = reinterpret_cast<const Pack<Value>*>(input)[place];
    float values[kSize];
    let_through(gradient, kept, place, values);
    Pack<Value> behind;
    for (int i = 0; i < kSize; ++i) {
      plain[i] += values[i];
      centred[i] +=
          values[i] * (static_cast<float>(x.values[i]) - mean[channel + i]);
      behind.values[i] = static_cast<Value>(values[i]);
    }
    if (residual_gradient != nullptr)
      reinterpret_cast<Pack<Value>*>(residual_gradient)[place] = behind;
  });
  write_block_sums(plain, centred, rows, sums + 2 * blockIdx.x * rows.channels);
}

__global__ void finish_gradients(const float* sums, int blocks, int channels,
                                 const float* inverse_std,
                                 float* scale_gradient, float* shift_gradient) {
  const int c = static_cast<int>(blockIdx.x) * kChannels + threadIdx.x;
  const TwoSums total = add_blocks(sums, blocks, channels, c);
  if (threadIdx.y != 0 || c >= channels) return;
  shift_gradient[c] = static_cast<float>(total.first);
  scale_gradient[c] = static_cast<float>(total.second * inverse_std[c]);
}

struct BackFormula {
  const float *scale, *inverse_std, *own_mean, *scale_gradient, *shift_gradient;
  float share;  // of one value in the statistics
};

// See norm_planes.cpp for the formula. The gradient may be written over the
// input.
template <class Value>
__global__ void propagate(const Value* gradient, const Value* input,
                          const uint8_t* kept, BackFormula formula, Rows rows,
                          Value* input_gradient) {
  constexpr int kSize = Pack<Value>::kSize;
  const int channel = threadIdx.x % rows.packs * kSize;
  float direct[kSize], to_mean[kSize], to_var[kSize], centre[kSize];
  for (int i = 0; i < kSize; ++i) {
    const int c = channel + i;
    direct[i] = formula.scale[c] * formula.inverse_std[c];
    to_mean[i] = -formula.share * direct[i] * formula.shift_gradient[c];
    to_var[i] = -formula.share * direct[i] * formula.inverse_std[c] *
                formula.scale_gradient[c];
    centre[i] = formula.own_mean[c];
  }
  each_row(rows, [&](int64_t place) {
    const auto x = reinterpret_cast<const Pack<Value>*>(input)[place];
    float values[kSize];
    let_through(gradient, kept, place, values);
    Pack<Value> result;
    for (int i = 0; i < kSize; ++i)
      result.values[i] = static_cast<Value>(
          direct[i] * values[i] + to_mean[i] +
          to_var[i] * (static_cast<float>(x.values[i]) - centre[i]));
    reinterpret_cast<Pack<Value>*>(input_gradient)[place] = result;
  });
}

}  // namespace sotta::norm_rows
