#pragma once

#include <cstdint>
#include <cstring>

#include <cooperative_groups.h>

#include "gpu/kernels/early_launch.cuh"
#include "gpu/kernels/norm_pack.cuh"

// The kernels of norm_grid.cu. All blocks are on the GPU at once: they read
// their part of the tensor into registers, wait for each other's sums, and go
// on with what they have.

namespace sotta::norm_rows {

// Constants, so that results do not depend on the GPU.
constexpr int kGridBlocks = 128;
constexpr int kGridThreads = 512;

// Channels of a block, which has every so many rows of them.
constexpr int kSliceChannels = 64;

// Values that a thread holds: with all that it computes, 128 registers at most.
constexpr int kHeldValues = 64;

// Rows that a thread asks for before it waits for the first of them.
constexpr int kReadAhead = 4;

// Two for each channel of a slice.
constexpr int kBlockSums = 2 * kSliceChannels;

constexpr int kWarp = 32;
constexpr int kWarps = kGridThreads / kWarp;

// How a tensor's rows are dealt out: the blocks of a slice follow each other.
struct Grid {
  int rows;
  int channels;
  int parts;  // blocks of a slice

  __device__ int slice() const { return blockIdx.x / parts; }
  __device__ int part() const { return blockIdx.x % parts; }
};

// The rows of a thread, which keeps to one pack's channels.
template <class Value>
class Walk {
 public:
  static constexpr int kSize = Pack<Value>::kSize;
  static constexpr int kPacks = kSliceChannels / kSize;
  static constexpr int kAbreast = kGridThreads / kPacks;
  static constexpr int kHeld = kHeldValues / kSize;
  static_assert(kWarp % kPacks == 0 && kHeld % kReadAhead == 0);

  __device__ explicit Walk(const Grid& grid) {
    const int row = grid.part() * kAbreast + threadIdx.x / kPacks;
    const int packs = grid.channels / kSize;
    left_ = grid.rows - row;
    step_ = grid.parts * kAbreast;
    first_ = row * packs + grid.slice() * kPacks + threadIdx.x % kPacks;
    stride_ = step_ * packs;
  }

  // Whether there is a k-th row, and where its pack is.
  __device__ bool has(int k) const { return k * step_ < left_; }
  __device__ int place(int k) const { return first_ + k * stride_; }

  // As the place, but of a row that is there, if the first of them is.
  __device__ int place_to_read(int k, int first) const {
    return place(has(k) ? k : first);
  }

  // The first of the thread's channels, within the slice.
  __device__ static int channel() { return threadIdx.x % kPacks * kSize; }

 private:
  int left_, step_, first_, stride_;
};

// Adds up what the block's threads have for the same channels.
template <int kSize>
__device__ void write_sums(const PackSums<kSize>& mine, float* sums) {
  constexpr int kPacks = kSliceChannels / kSize;
  __shared__ float shared[kWarps][kBlockSums];
  const int lane = threadIdx.x % kWarp;
  float* const warps = shared[threadIdx.x / kWarp];
  for (int i = 0; i < kSize; ++i) {
    float first = mine.first[i], second = mine.second[i];
    for (int apart = kWarp / 2; apart >= kPacks; apart /= 2) {
      first += __shfl_xor_sync(~0u, first, apart);
      second += __shfl_xor_sync(~0u, second, apart);
    }
    if (lane >= kPacks) continue;
    warps[lane * kSize + i] = first;
    warps[kSliceChannels + lane * kSize + i] = second;
  }
  __syncthreads();
  if (threadIdx.x >= kBlockSums) return;
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp)
    sum += shared[warp][threadIdx.x];
  sums[blockIdx.x * kBlockSums + threadIdx.x] = sum;
}

// The sums of all blocks of the slice; valid in its first threads, one per
// channel.
__device__ inline TwoSums add_parts(const Grid& grid, const float* sums) {
  constexpr int kPacks = kBlockSums / Pack<float>::kSize;
  constexpr int kMost = kGridBlocks * kPacks / kGridThreads;
  static_assert(kGridThreads / kPacks == kWarps && kGridThreads % kPacks == 0);
  __shared__ double shared[kWarps][kBlockSums];
  const float* const of_slice = sums + grid.slice() * grid.parts * kBlockSums;
  Pack<float> found[kMost];
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
    const int place = threadIdx.x + k * kGridThreads;
    found[k] = {};
    if (place < grid.parts * kPacks) found[k] = read_pack(of_slice, place);
  }
  for (int i = 0; i < Pack<float>::kSize; ++i) {
    double sum = 0;
#pragma unroll
    for (int k = 0; k < kMost; ++k)
      sum += found[k].values[i];
    shared[threadIdx.x / kPacks]
          [threadIdx.x % kPacks * Pack<float>::kSize + i] = sum;
  }
  __syncthreads();
  TwoSums total = {0, 0};
  if (threadIdx.x >= kSliceChannels) return total;
  for (int warp = 0; warp < kWarps; ++warp) {
    total.first += shared[warp][threadIdx.x];
    total.second += shared[warp][kSliceChannels + threadIdx.x];
  }
  return total;
}

// The sums over all parts of [parts, 2, channels] for the slice's channels;
// valid in its first threads, one per channel.
__device__ inline TwoSums add_measured(const Grid& grid, const float* sums,
                                       int parts) {
  constexpr int kSize = Pack<float>::kSize;
  constexpr int kPacks = kBlockSums / kSize;  // of a part: one for each thread
  static_assert(kPacks == kWarp);             // of a warp
  __shared__ double shared[kWarps][kBlockSums];
  const int warp = threadIdx.x / kWarp, number = threadIdx.x % kWarp * kSize;
  // The slice's first sums, then its second ones.
  const float* const mine = sums + number / kSliceChannels * grid.channels +
                            grid.slice() * kSliceChannels +
                            number % kSliceChannels;
  double total[kSize] = {};
#pragma unroll 4
  for (int part = warp; part < parts; part += kWarps) {
    const Pack<float> found =
        read_pack(mine + int64_t{2} * part * grid.channels, 0);
    for (int i = 0; i < kSize; ++i)
      total[i] += found.values[i];
  }
  for (int i = 0; i < kSize; ++i)
    shared[warp][number + i] = total[i];
  __syncthreads();
  TwoSums of_channel = {0, 0};
  if (threadIdx.x >= kSliceChannels) return of_channel;
  for (int k = 0; k < kWarps; ++k) {
    of_channel.first += shared[k][threadIdx.x];
    of_channel.second += shared[k][kSliceChannels + threadIdx.x];
  }
  return of_channel;
}

// Reads the packs of kReadAhead rows; those beyond the last are left to be
// ignored. Without branches, so that the reads are under way together.
template <class Value>
__device__ void read_ahead(const Walk<Value>& walk, int first,
                           const Value* rows, Pack<Value>* packs) {
#pragma unroll
  for (int k = 0; k < kReadAhead; ++k)
    packs[k] = read_pack(rows, walk.place_to_read(first + k, first));
}

// Keeps the compiler from holding floats, which a pack of bfloat16 is turned
// into before and after: twice the registers.
template <class Value>
__device__ void stay_packed(Pack<Value>& pack) {
  uint32_t words[sizeof(pack) / sizeof(uint32_t)];
  memcpy(words, &pack, sizeof(pack));
  for (uint32_t& word : words)
    asm("" : "+r"(word));
  memcpy(&pack, words, sizeof(pack));
}

template <class Value>
struct GridForward {
  Grid grid;
  const Value* input;
  Statistics found;
  const float *scale, *shift;
  AfterChannels<Value> after;
  float* sums;  // [kGridBlocks, kBlockSums]; of normalise_measured() given
};

template <class Value>
__device__ void read_held(const GridForward<Value>& pass,
                          const Walk<Value>& walk, Pack<Value>* held) {
#pragma unroll
  for (int first = 0; first < Walk<Value>::kHeld; first += kReadAhead) {
    if (!walk.has(first)) break;
    read_ahead(walk, first, pass.input, held + first);
  }
}

// Holds what it has summed.
template <class Value, int kSize = Pack<Value>::kSize>
__device__ PackSums<kSize> sum_held_inputs(const GridForward<Value>& pass,
                                           const Walk<Value>& walk,
                                           Pack<Value>* held) {
  constexpr int kHeld = Walk<Value>::kHeld;
  read_held(pass, walk, held);
  float running_mean[kSize];
  const int channel = pass.grid.slice() * kSliceChannels + walk.channel();
  for (int i = 0; i < kSize; ++i)
    running_mean[i] = pass.found.running_mean[channel + i];
  PackSums<kSize> sums;
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    if (walk.has(k)) add_input(held[k], running_mean, sums);
    stay_packed(held[k]);
  }
  return sums;
}

// For threads of the slice's channels; one block hands out for all.
template <class Value>
__device__ NormChannel find_channel(const GridForward<Value>& pass,
                                    TwoSums total) {
  const int c = pass.grid.slice() * kSliceChannels + threadIdx.x;
  const auto channel = channel_statistics(pass.found, c, total);
  if (pass.grid.part() == 0) hand_out(pass.found, c, channel);
  return {channel.mean, pass.scale[c] * inverse_std_of(channel.var),
          pass.shift[c]};
}

template <class Value>
__device__ void write_held(const GridForward<Value>& pass,
                           const Walk<Value>& walk, const Pack<Value>* held,
                           const NormChannel* of_slice) {
  constexpr int kSize = Pack<Value>::kSize;
  NormChannel channels[kSize];
  for (int i = 0; i < kSize; ++i)
    channels[i] = of_slice[walk.channel() + i];
#pragma unroll
  for (int first = 0; first < Walk<Value>::kHeld; first += kReadAhead) {
    if (!walk.has(first)) break;
    Pack<Value> residual[kReadAhead];
    if (pass.after.residual != nullptr)
      read_ahead(walk, first, pass.after.residual, residual);
#pragma unroll
    for (int k = 0; k < kReadAhead; ++k)
      if (walk.has(first + k))
        write_normalised(held[first + k], residual[k], channels, pass.after,
                         walk.place(first + k));
  }
}

// The output may be written over the input.
template <class Value>
__global__ void __launch_bounds__(kGridThreads, 1)
    normalise_at_once(GridForward<Value> pass) {
  __shared__ NormChannel of_slice[kSliceChannels];
  let_next_begin();
  wait_for_kernels();
  const Walk<Value> walk(pass.grid);
  Pack<Value> held[Walk<Value>::kHeld];
  write_sums(sum_held_inputs(pass, walk, held), pass.sums);
  cooperative_groups::this_grid().sync();
  const TwoSums total = add_parts(pass.grid, pass.sums);
  if (threadIdx.x < kSliceChannels)
    of_slice[threadIdx.x] = find_channel(pass, total);
  __syncthreads();
  write_held(pass, walk, held, of_slice);
}

// The same with sums that were taken where the input was computed. The input's
// values arrive while sums are added up.
template <class Value>
__global__ void __launch_bounds__(kGridThreads, 1)
    normalise_measured(GridForward<Value> pass, int parts) {
  __shared__ NormChannel of_slice[kSliceChannels];
  let_next_begin();
  wait_for_kernels();
  const Walk<Value> walk(pass.grid);
  Pack<Value> held[Walk<Value>::kHeld];
  read_held(pass, walk, held);
  const TwoSums total = add_measured(pass.grid, pass.sums, parts);
  if (threadIdx.x < kSliceChannels)
    of_slice[threadIdx.x] = find_channel(pass, total);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Walk<Value>::kHeld; ++k)
    stay_packed(held[k]);
  write_held(pass, walk, held, of_slice);
}

template <class Value>
struct GridBackward {
  Grid grid;
  Incoming<Value> incoming;
  const Value* input;
  const float* mean;
  BackFormula formula;
  float *scale_gradient, *shift_gradient;
  Value *residual_gradient, *input_gradient;  // or none
  float* sums;                                // [kGridBlocks, kBlockSums]
};

// Holds the gradient behind the ReLU, which is the residual's too.
template <class Value, int kSize = Pack<Value>::kSize>
__device__ PackSums<kSize> sum_held_gradients(const GridBackward<Value>& pass,
                                              const Walk<Value>& walk,
                                              Pack<Value>* held) {
  float mean[kSize];
  const int channel = pass.grid.slice() * kSliceChannels + walk.channel();
  for (int i = 0; i < kSize; ++i)
    mean[i] = pass.mean[channel + i];
  PackSums<kSize> sums;
#pragma unroll
  for (int first = 0; first < Walk<Value>::kHeld; first += kReadAhead) {
    if (!walk.has(first)) break;
    Pack<Value> x[kReadAhead];
    KeptBits kept[kReadAhead];
    read_ahead(walk, first, pass.incoming.gradient, held + first);
    // What is to be added goes through the place of what comes next.
    if (pass.incoming.second_gradient != nullptr) {
      read_ahead(walk, first, pass.incoming.second_gradient, x);
#pragma unroll
      for (int k = 0; k < kReadAhead; ++k)
        add_pack(x[k], held[first + k]);
    }
    read_ahead(walk, first, pass.input, x);
    if (pass.incoming.kept != nullptr)
      for (int k = 0; k < kReadAhead; ++k)
        kept[k] = pass.incoming.kept[walk.place_to_read(first + k, first)];
#pragma unroll
    for (int k = 0; k < kReadAhead; ++k) {
      const bool has = walk.has(first + k);
      Pack<Value>& gradient = held[first + k];
      if (!has) gradient = {};  // adds nothing
      if (pass.incoming.kept != nullptr) keep_only(kept[k], gradient);
      add_gradient(gradient, x[k], mean, sums);
      if (has && pass.residual_gradient != nullptr)
        write_pack(gradient, pass.residual_gradient, walk.place(first + k));
      stay_packed(gradient);
    }
  }
  return sums;
}

// For threads of the slice's channels; one block hands out for all.
template <class Value>
__device__ BackChannel find_channel(const GridBackward<Value>& pass,
                                    TwoSums total) {
  const int c = pass.grid.slice() * kSliceChannels + threadIdx.x;
  const auto gradient = affine_gradient(total, pass.formula.inverse_std[c]);
  if (pass.grid.part() == 0) {
    pass.scale_gradient[c] = gradient.scale;
    pass.shift_gradient[c] = gradient.shift;
  }
  return back_channel(pass.formula, c, gradient);
}

// Reads the input again. It may be what is written: a thread writes only where
// it alone reads.
template <class Value>
__device__ void propagate_held(const GridBackward<Value>& pass,
                               const Walk<Value>& walk, const Pack<Value>* held,
                               const BackChannel* of_slice) {
  constexpr int kSize = Pack<Value>::kSize;
  BackChannel channels[kSize];
  for (int i = 0; i < kSize; ++i)
    channels[i] = of_slice[walk.channel() + i];
#pragma unroll
  for (int first = 0; first < Walk<Value>::kHeld; first += kReadAhead) {
    if (!walk.has(first)) break;
    Pack<Value> x[kReadAhead];
    read_ahead(walk, first, pass.input, x);
#pragma unroll
    for (int k = 0; k < kReadAhead; ++k)
      if (walk.has(first + k))
        write_pack(propagated(held[first + k], x[k], channels),
                   pass.input_gradient, walk.place(first + k));
  }
}

template <class Value>
__global__ void __launch_bounds__(kGridThreads, 1)
    propagate_at_once(GridBackward<Value> pass) {
  __shared__ BackChannel of_slice[kSliceChannels];
  let_next_begin();
  wait_for_kernels();
  const Walk<Value> walk(pass.grid);
  Pack<Value> held[Walk<Value>::kHeld];
  write_sums(sum_held_gradients(pass, walk, held), pass.sums);
  cooperative_groups::this_grid().sync();
  const TwoSums total = add_parts(pass.grid, pass.sums);
  if (threadIdx.x < kSliceChannels)
    of_slice[threadIdx.x] = find_channel(pass, total);
  __syncthreads();
  if (pass.input_gradient != nullptr)
    propagate_held(pass, walk, held, of_slice);
}

}  // namespace sotta::norm_rows
