#pragma once

#include <cstdint>

#include "gpu/kernels/early_launch.cuh"
#include "gpu/kernels/norm_pack.cuh"

// The kernels of norm_rows.cu: how they are called stands there.

namespace sotta::norm_rows {

constexpr int kThreads = 256;

// Threads that add up what the blocks found: channels by parts.
constexpr int kChannels = 32;
constexpr int kParts = 32;

// Rows of channels. A thread keeps to one pack's channels and goes from row to
// row; a block's threads share `abreast` rows at a time. blockIdx.y is the
// lane.
struct Rows {
  int64_t count;  // of a lane
  int channels;
  int packs;
  int abreast;

  // Where the lane's values begin.
  __device__ int64_t begin() const { return blockIdx.y * count * channels; }
};

// Rows that a thread asks for before it waits for the first of them.
constexpr int kRowsAhead = 4;

// Calls work(read(place), place) for the thread's pack of every row, in their
// order. What work() writes must not be what another thread reads.
template <class Read, class Work>
__device__ void each_row(const Rows& rows, const Read& read, const Work& work) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * rows.abreast;
  const int64_t stride = step * rows.packs;
  int64_t row = static_cast<int64_t>(blockIdx.x) * rows.abreast +
                threadIdx.x / rows.packs;
  int64_t place = row * rows.packs + threadIdx.x % rows.packs;
  for (; row + (kRowsAhead - 1) * step < rows.count;
       row += kRowsAhead * step, place += kRowsAhead * stride) {
    decltype(read(place)) found[kRowsAhead];
#pragma unroll
    for (int k = 0; k < kRowsAhead; ++k)
      found[k] = read(place + k * stride);
#pragma unroll
    for (int k = 0; k < kRowsAhead; ++k)
      work(found[k], place + k * stride);
  }
  for (; row < rows.count; row += step, place += stride)
    work(read(place), place);
}

// A vector's numbers for the thread's channels.
template <int kSize>
struct ChannelNumbers {
  __device__ ChannelNumbers(const float* vector, const Rows& rows) {
    for (int i = 0; i < kSize; ++i)
      values[i] = vector[threadIdx.x % rows.packs * kSize + i];
  }
  float values[kSize];
};

// Adds up what the block's threads have for the same channels:
// [2, channels] at `sums`.
template <int kSize>
__device__ void write_block_sums(const PackSums<kSize>& mine, const Rows& rows,
                                 float* sums) {
  __shared__ float shared[2][kSize][kThreads];
  const int me = threadIdx.x;
  for (int i = 0; i < kSize; ++i) {
    shared[0][i][me] = mine.first[i];
    shared[1][i][me] = mine.second[i];
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

// [lanes, blocks, 2, channels]
__device__ inline float* sums_of_block(float* sums, const Rows& rows) {
  const int64_t block =
      static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  return sums + 2 * block * rows.channels;
}

// All blocks' sums of a channel of the lane; valid in threads of threadIdx.y ==
// 0.
__device__ TwoSums add_blocks(const float* sums, int blocks, int channels,
                              int channel) {
  __shared__ double shared[2][kParts][kChannels];
  TwoSums mine = {0, 0};
  sums += 2 * static_cast<int64_t>(blockIdx.y) * blocks * channels;
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

template <class Value>
__global__ void sum_inputs(const Value* input, const float* running_mean,
                           LaneSteps steps, Rows rows, float* sums) {
  constexpr int kSize = Pack<Value>::kSize;
  input += rows.begin();
  const ChannelNumbers<kSize> mean(running_mean + blockIdx.y * steps.running,
                                   rows);
  PackSums<kSize> mine;
  each_row(
      rows, [&](int64_t place) { return read_pack(input, place); },
      [&](const Pack<Value>& x, int64_t) { add_input(x, mean.values, mine); });
  write_block_sums(mine, rows, sums_of_block(sums, rows));
}

__global__ void finish_statistics(const float* sums, int blocks, int channels,
                                  Statistics found, LaneSteps steps) {
  found = of_lane(found, steps, blockIdx.y);
  const int c = static_cast<int>(blockIdx.x) * kChannels + threadIdx.x;
  const TwoSums total = add_blocks(sums, blocks, channels, c);
  if (threadIdx.y != 0 || c >= channels) return;
  hand_out(found, c, channel_statistics(found, c, total));
}

__global__ void trace_running(int channels, Statistics found, LaneSteps steps) {
  found = of_lane(found, steps, blockIdx.y);
  const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (c >= channels) return;
  found.used_mean[c] = found.own_mean[c] = found.running_mean[c];
  found.inverse_std[c] = inverse_std_of(found.running_var[c]);
}

// Of one place: the layer's input, and the residual or what came back.
template <class Value>
struct TwoPacks {
  Pack<Value> input, other;
};

template <class Value>
__device__ TwoPacks<Value> input_and(const Incoming<Value>& incoming,
                                     const Value* input, int64_t place) {
  return {read_pack(input, place), let_through(incoming, place)};
}

struct Formula {
  const float *scale, *shift, *mean;
  const float *inverse_std, *var;  // one of the two
  int64_t mean_step, var_step;     // from lane to lane; of inverse_std as well
};

template <class Value>
__global__ void normalise(const Value* input, Formula formula, LaneSteps steps,
                          Rows rows, AfterChannels<Value> after) {
  constexpr int kSize = Pack<Value>::kSize;
  let_next_begin();
  wait_for_kernels();
  const int64_t lane = blockIdx.y;
  const int64_t affine = lane * steps.affine;
  const int64_t mean = lane * formula.mean_step, var = lane * formula.var_step;
  input += rows.begin();
  after = shifted(after, rows.begin());
  const int channel = threadIdx.x % rows.packs * kSize;
  NormChannel channels[kSize];
  for (int i = 0; i < kSize; ++i) {
    const int c = channel + i;
    const float inverse_std = formula.var == nullptr
                                  ? formula.inverse_std[var + c]
                                  : inverse_std_of(formula.var[var + c]);
    channels[i] = {formula.mean[mean + c],
                   formula.scale[affine + c] * inverse_std,
                   formula.shift[affine + c]};
  }
  each_row(
      rows,
      [&](int64_t place) {
        TwoPacks<Value> found;
        found.input = read_pack(input, place);
        if (after.residual != nullptr)
          found.other = read_pack(after.residual, place);
        return found;
      },
      [&](const TwoPacks<Value>& found, int64_t place) {
        write_normalised(found.input, found.other, channels, after, place);
      });
}

// Writes the residual's gradient on the way.
template <class Value>
__global__ void sum_gradients(Incoming<Value> incoming, const Value* input,
                              const float* mean, LaneSteps steps, Rows rows,
                              Value* residual_gradient, float* sums) {
  constexpr int kSize = Pack<Value>::kSize;
  incoming = shifted(incoming, rows.begin());
  input += rows.begin();
  const ChannelNumbers<kSize> means(mean + blockIdx.y * steps.trace, rows);
  if (residual_gradient != nullptr) residual_gradient += rows.begin();
  PackSums<kSize> mine;
  each_row(
      rows, [&](int64_t place) { return input_and(incoming, input, place); },
      [&](const TwoPacks<Value>& found, int64_t place) {
        add_gradient(found.other, found.input, means.values, mine);
        if (residual_gradient != nullptr)
          write_pack(found.other, residual_gradient, place);
      });
  write_block_sums(mine, rows, sums_of_block(sums, rows));
}

__global__ void finish_gradients(const float* sums, int blocks, int channels,
                                 const float* inverse_std, LaneSteps steps,
                                 float* scale_gradient, float* shift_gradient) {
  inverse_std += blockIdx.y * steps.trace;
  scale_gradient += blockIdx.y * channels;
  shift_gradient += blockIdx.y * channels;
  const int c = static_cast<int>(blockIdx.x) * kChannels + threadIdx.x;
  const TwoSums total = add_blocks(sums, blocks, channels, c);
  if (threadIdx.y != 0 || c >= channels) return;
  const AffineGradient found = affine_gradient(total, inverse_std[c]);
  scale_gradient[c] = found.scale;
  shift_gradient[c] = found.shift;
}

// The gradient may be written over the input.
template <class Value>
__global__ void propagate(Incoming<Value> incoming, const Value* input,
                          BackFormula formula, LaneSteps steps,
                          const float* scale_gradient,
                          const float* shift_gradient, Rows rows,
                          Value* input_gradient) {
  constexpr int kSize = Pack<Value>::kSize;
  incoming = shifted(incoming, rows.begin());
  input += rows.begin();
  input_gradient += rows.begin();
  formula = of_lane(formula, steps, blockIdx.y);
  scale_gradient += blockIdx.y * rows.channels;
  shift_gradient += blockIdx.y * rows.channels;
  const int channel = threadIdx.x % rows.packs * kSize;
  BackChannel channels[kSize];
  for (int i = 0; i < kSize; ++i) {
    const int c = channel + i;
    channels[i] =
        back_channel(formula, c, {scale_gradient[c], shift_gradient[c]});
  }
  each_row(
      rows, [&](int64_t place) { return input_and(incoming, input, place); },
      [&](const TwoPacks<Value>& found, int64_t place) {
        write_pack(propagated(found.other, found.input, channels),
                   input_gradient, place);
      });
}

}  // namespace sotta::norm_rows
