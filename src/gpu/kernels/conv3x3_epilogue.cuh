#pragma once

#include <cstdint>
#include <cstring>

#include "gpu/kernels/conv3x3_tile.cuh"
#include "gpu/kernels/norm_pass.h"
#include "gpu/kernels/pack.cuh"

// What the threads of a convolution do with a tile's sums, which they have
// in registers: what lies behind the convolution, as far as it needs no other
// tile, and writing.

namespace sotta::conv_tiles {

__device__ inline float as_float(float value) {
  return value;
}
__device__ inline float as_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

// Four of a vector's numbers, on 16 bytes.
__device__ inline Pack<float> read_four(const float* from) {
  return *reinterpret_cast<const Pack<float>*>(from);
}

// What is to be added to a thread's sums: packs of two patches, two rows.
template <class Value, int kColumns>
struct Residual {
  Pack<Value> packs[2][kPacksOfThread<Value, kColumns>][2];
};

// Reads only begin here: values arrive while other things are done.
template <class Value, int kColumns>
__device__ Residual<Value, kColumns> read_residual(const ConvPass& pass,
                                                   const Place& at, int group) {
  Residual<Value, kColumns> residual = {};
  if (pass.norm.residual == nullptr) return residual;
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const Value* from =
        static_cast<const Value*>(pass.norm.residual) +
        place_in_output<Value, kColumns>(pass, at, 2 * group + p);
#pragma unroll
    for (int i = 0; i < kPacksOfThread<Value, kColumns>; ++i)
#pragma unroll
      for (int below = 0; below < 2; ++below)
        residual.packs[p][i][below] = *reinterpret_cast<const Pack<Value>*>(
            from + i * 4 * kWide<Value> + below * step_below(pass));
  }
  return residual;
}

// Keeps the compiler from turning what has arrived into floats, twice the
// registers of bfloat16, before it is needed.
template <class Value, int kColumns>
__device__ void stay_packed(Residual<Value, kColumns>& residual) {
  constexpr int kWords = sizeof(residual) / sizeof(uint32_t);
  uint32_t words[kWords];
  memcpy(words, &residual, sizeof(residual));
#pragma unroll
  for (int i = 0; i < kWords; ++i)
    asm volatile("" : "+r"(words[i]));
  memcpy(&residual, words, sizeof(residual));
}

// As norm_rows::write_normalised(). A tile's images are of one lane.
template <class Value, int kColumns>
__device__ void normalise(const ConvPass& pass, const Place& at,
                          Residual<Value, kColumns>& residual,
                          Sums<kColumns>& sums) {
  stay_packed(residual);
  const NormEpilogue& norm = pass.norm;
  const int64_t lane = at.image / norm.lane_images;
  const int channel = first_channel<Value, kColumns>(at);
  const int64_t affine = lane * norm.affine_step + channel,
                running = lane * norm.running_step + channel;
#pragma unroll
  for (int i = 0; i < kPacksOfThread<Value, kColumns>; ++i)
#pragma unroll
    for (int four = 0; four < kWide<Value>; four += 4) {
      const int step = i * 4 * kWide<Value> + four;
      const Pack<float> scale = read_four(norm.scale + affine + step),
                        shift = read_four(norm.shift + affine + step),
                        mean = read_four(norm.mean + running + step),
                        var = read_four(norm.var + running + step);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float factor =
            scale.values[k] *
            rsqrtf(var.values[k] + static_cast<float>(kNormEpsilon));
#pragma unroll
        for (int p = 0; p < 2; ++p)
#pragma unroll
          for (int below = 0; below < 2; ++below) {
            float& sum = sums.patch[p][sum_of<Value>(i, four + k, below)];
            const float value =
                (sum - mean.values[k]) * factor + shift.values[k] +
                as_float(residual.packs[p][i][below].values[four + k]);
            // A comparison that lets NaN through.
            sum = norm.relu && value <= 0 ? 0.0f : value;
          }
      }
    }
}

// Of a thread's channels, in the order of its packs.
template <int kColumns>
struct ChannelSums {
  float first[kColumns / 4] = {}, second[kColumns / 4] = {};
};

template <class Value, int kColumns>
__device__ ChannelSums<kColumns> sum_channels(const ConvPass& pass,
                                              const Place& at,
                                              const Sums<kColumns>& sums) {
  const int64_t lane = at.image / pass.over.lane_images;
  const float* running_mean = pass.over.running_mean +
                              lane * pass.over.running_step +
                              first_channel<Value, kColumns>(at);
  ChannelSums<kColumns> found;
  Pack<float> mean;
#pragma unroll
  for (int i = 0; i < kPacksOfThread<Value, kColumns>; ++i)
#pragma unroll
    for (int c = 0; c < kWide<Value>; ++c) {
      if (c % 4 == 0) mean = read_four(running_mean + i * 4 * kWide<Value> + c);
      float &first = found.first[i * kWide<Value> + c],
            &second = found.second[i * kWide<Value> + c];
#pragma unroll
      for (int p = 0; p < 2; ++p)
#pragma unroll
        for (int below = 0; below < 2; ++below) {
          const float distance =
              sums.patch[p][sum_of<Value>(i, c, below)] - mean.values[c % 4];
          first += distance;
          second += distance * distance;
        }
    }
  return found;
}

// Of the first 2 * kHalf numbers a thread keeps one half and gives the other to
// the thread kApart away, which keeps that one: both add what they get. What is
// kept moves to the front; its place before comes out.
template <int kHalf, int kApart, int kCount>
__device__ int halve(float (&numbers)[kCount]) {
  const bool upper = (threadIdx.x & kApart) != 0;
#pragma unroll
  for (int k = 0; k < kHalf; ++k) {
    // Both in registers before one is chosen, not one of two places.
    const float low = numbers[k], high = numbers[k + kHalf];
    const float given = upper ? low : high, kept = upper ? high : low;
    numbers[k] = kept + __shfl_xor_sync(~0u, given, kApart);
  }
  return upper ? kHalf : 0;
}

// Adds up the numbers of a warp's eight threads that have the same channels,
// those with equal threadIdx.x % 4. An eighth of them is left to each, in front
// of all; comes out where it was.
template <int kCount>
__device__ int add_in_warp(float (&numbers)[kCount]) {
  const int in_halves = halve<kCount / 2, 16>(numbers),
            in_quarters = halve<kCount / 4, 8>(numbers),
            in_eighths = halve<kCount / 8, 4>(numbers);
  return in_halves + in_quarters + in_eighths;
}

// What a warp has: the first sums of all columns, then the second ones.
template <class Value, int kColumns>
__device__ void write_warp_sums(ChannelSums<kColumns>& found, float* room) {
  constexpr int kLeft = kColumns / 4 / 8;
  const int begin = add_in_warp(found.first);
  add_in_warp(found.second);
#pragma unroll
  for (int k = 0; k < kLeft; ++k) {
    const int number = begin + k;
    const int column = number / kWide<Value> * 4 * kWide<Value> +
                       static_cast<int>(threadIdx.x) % 4 * kWide<Value> +
                       number % kWide<Value>;
    room[column] = found.first[k];
    room[kColumns + column] = found.second[k];
  }
}

// For Epilogue::kSums: adds up what `kWarps` warps have, in their order. `room`
// in shared memory, 2 * kColumns floats per warp, is used by nobody else until
// this returns. `part` is the tile's or half's number in SumsEpilogue::sums.
template <class Value, int kColumns, int kWarps>
__device__ void write_sums(const ConvPass& pass, const Place& at, int part,
                           float* room, const Sums<kColumns>& sums) {
  constexpr int kBarrier = 1, kThreadsHere = 32 * kWarps;
  const int thread = static_cast<int>(threadIdx.x) % kThreadsHere;
  ChannelSums<kColumns> found = sum_channels<Value, kColumns>(pass, at, sums);
  __syncwarp();  // one thread may have handed something back
  hopper::meet<kBarrier, kThreadsHere>();  // all have multiplied: room is free
  write_warp_sums<Value, kColumns>(found, room + thread / 32 * 2 * kColumns);
  hopper::meet<kBarrier, kThreadsHere>();
  if (thread < 2 * kColumns) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp)
      sum += room[warp * 2 * kColumns + thread];
    const int64_t row = int64_t{part} * 2 + thread / kColumns;
    pass.over
        .sums[row * pass.channels + at.column * kColumns + thread % kColumns] =
        sum;
  }
  hopper::leave_to_copies();
  hopper::meet<kBarrier, kThreadsHere>();
}

__device__ inline void store(float* to, const float* sums) {
  *reinterpret_cast<float4*>(to) =
      make_float4(sums[0], sums[1], sums[4], sums[5]);
}
__device__ inline void store(__nv_bfloat16* to, const float* sums) {
  union {
    __nv_bfloat162 pairs[4];
    uint4 bytes;
  } line;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    line.pairs[i] = __floats2bfloat162_rn(sums[4 * i], sums[4 * i + 1]);
  *reinterpret_cast<uint4*>(to) = line.bytes;
}

template <class Value, int kColumns>
__device__ void write_patch(const ConvPass& pass, const Place& at, int patch,
                            const float (&sums)[kColumns / 2]) {
  Value* to = static_cast<Value*>(pass.output) +
              place_in_output<Value, kColumns>(pass, at, patch);
#pragma unroll
  for (int i = 0; i < kPacksOfThread<Value, kColumns>; ++i)
#pragma unroll
    for (int below = 0; below < 2; ++below)
      store(to + i * 4 * kWide<Value> + below * step_below(pass),
            sums + sum_of<Value>(i, 0, below));
}

}  // namespace sotta::conv_tiles
