#pragma once

#include <cmath>
#include <cstdint>

// The kernels of logit_rows.cu: how they are called stands there. A row is a
// warp's work, and its lanes take every 32nd class.

namespace sotta::logit_rows {

constexpr int kWarp = 32;

// Warps of a block that reads predictions, a row each.
constexpr int kReadingWarps = 4;

// Warps of a block that adds up entropies, one for each lane of the warp that
// finishes, and the rows that they share.
constexpr int kAddingWarps = kWarp;
constexpr int kRowsPerBlock = 128;

struct Logits {
  const float* values;
  int64_t count;  // of rows
  int classes;

  __device__ const float* row(int64_t index) const {
    return values + index * classes;
  }
};

__device__ inline int lane() {
  return static_cast<int>(threadIdx.x) % kWarp;
}

__device__ inline int warp() {
  return static_cast<int>(threadIdx.x) / kWarp;
}

// Over all lanes, each of which gets the same bits.
__device__ inline float warp_sum(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2)
    value += __shfl_xor_sync(~0u, value, step);
  return value;
}

struct Top {
  float logit;
  int label;
};

// The largest over all lanes, the first of equal ones.
__device__ inline Top warp_top(Top mine) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Top other = {__shfl_xor_sync(~0u, mine.logit, step),
                       __shfl_xor_sync(~0u, mine.label, step)};
    if (other.logit > mine.logit ||
        (other.logit == mine.logit && other.label < mine.label))
      mine = other;
  }
  return mine;
}

// A row's probabilities.
struct Softmax {
  const float* logits;
  int classes;
  Top top;  // meaningless where `sum` is NaN
  float sum;

  // Comparisons pass over NaN, but no sum does.
  __device__ Softmax(const float* of_row, int count)
      : logits(of_row), classes(count), top{-INFINITY, 0}, sum(0) {
    each([&](int k) {
      if (logits[k] > top.logit) top = {logits[k], k};
    });
    top = warp_top(top);
    each([&](int k) { sum += expf(logits[k] - top.logit); });
    sum = warp_sum(sum);
  }

  __device__ float operator[](int k) const {
    return expf(logits[k] - top.logit) / sum;
  }

  // Calls work(k) for each of the lane's classes.
  template <class Work>
  __device__ void each(const Work& work) const {
    for (int k = lane(); k < classes; k += kWarp)
      work(k);
  }
};

// What entropy() adds inside its logarithm.
constexpr float kInside = 1e-6f;

__device__ inline float entropy_of(const Softmax& softmax) {
  float sum = 0;
  softmax.each([&](int k) {
    const float p = softmax[k];
    sum += p * logf(p + kInside);
  });
  return -warp_sum(sum);
}

// With H = -sum p log(p + e) and the slopes g = dH/dp = -(log(p + e) +
// p / (p + e)), the softmax makes dH/dz = p (g - sum p g).
__device__ inline void write_gradient(const Softmax& softmax, float factor,
                                      float* gradient) {
  const auto slope = [](float p) {
    return -(logf(p + kInside) + p / (p + kInside));
  };
  float mean = 0;
  softmax.each([&](int k) {
    const float p = softmax[k];
    mean += p * slope(p);
  });
  mean = warp_sum(mean);
  softmax.each([&](int k) {
    const float p = softmax[k];
    gradient[k] = factor * p * (slope(p) - mean);
  });
}

__global__ void read_rows(Logits logits, float* packed) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kReadingWarps + warp();
  if (row >= logits.count) return;
  const Softmax softmax(logits.row(row), logits.classes);
  const float entropy = entropy_of(softmax);
  if (lane() != 0) return;
  packed[row] = 1 / softmax.sum;
  packed[logits.count + row] =
      isnan(softmax.sum) ? 0.0f : static_cast<float>(softmax.top.label);
  packed[2 * logits.count + row] = entropy;
}

// A block's part of the mean over all rows, to sums[block].
__global__ void __launch_bounds__(kAddingWarps* kWarp)
    add_entropies(Logits logits, float* gradient, float* sums) {
  __shared__ float of_warps[kAddingWarps];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRowsPerBlock;
  const float share = 1 / static_cast<float>(logits.count);
  float sum = 0;
  for (int64_t row = first + warp();
       row < first + kRowsPerBlock && row < logits.count; row += kAddingWarps) {
    const Softmax softmax(logits.row(row), logits.classes);
    sum += entropy_of(softmax);
    if (gradient != nullptr)
      write_gradient(softmax, share, gradient + row * logits.classes);
  }
  if (lane() == 0) of_warps[warp()] = sum;
  __syncthreads();
  if (warp() != 0) return;
  sum = warp_sum(of_warps[lane()]);
  if (lane() == 0) sums[blockIdx.x] = sum * share;
}

}  // namespace sotta::logit_rows
