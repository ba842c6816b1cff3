#pragma once

#include <cstdint>

#include "gpu/kernels/conv3x3_epilogue.cuh"
#include "gpu/kernels/conv3x3_tile.cuh"
#include "gpu/kernels/early_launch.cuh"
#include "gpu/kernels/hopper.cuh"

// A 3x3 convolution with a border of one zero, or a 1x1 one of stride 2, a
// pixel's channels side by side, as products of matrices. A block makes tiles
// of 256 pixels by 64 or 32 channels. With stride 1 it copies the tile's pixels
// with their border once per 128 bytes of channels ("chunk") and multiplies
// them by nine kernels, each beginning where its tap looks: nothing is unrolled
// in memory, no pixel is read nine times. With stride 2 it does so for every
// row of taps, with pixels of even and of odd number apart.

namespace sotta::conv_tiles {

__host__ __device__ constexpr int row_bytes(Taps taps, int columns) {
  return side_of(taps) * columns * kLine;  // the kernels of a row of taps
}
__host__ __device__ constexpr int box_step(int bytes) {
  return (bytes + 1023) / 1024 * 1024;
}

// A ring of buffers: which one, and the parity of its round.
struct Turn {
  int slot = 0;
  uint32_t parity = 0;
  __device__ void next(int slots) {
    if (++slot < slots) return;
    slot = 0;
    parity ^= 1;
  }
};

constexpr int kBarriers = 2 * kBoxesAhead + 2 * kMostRows;

struct Shared {
  char* boxes;
  char* rows;
  uint64_t *box_full, *box_free, *row_full, *row_free;
};

__device__ inline Shared share_out(const ConvPass& pass, char* memory,
                                   uint64_t* barriers) {
  return {memory,
          memory + kBoxesAhead * box_step(pass.shape.box_bytes),
          barriers,
          barriers + kBoxesAhead,
          barriers + 2 * kBoxesAhead,
          barriers + 2 * kBoxesAhead + kMostRows};
}

__device__ inline void make_barriers(const ConvPass& pass,
                                     const Shared& shared) {
  for (int i = 0; i < kBoxesAhead; ++i) {
    hopper::make_barrier(&shared.box_full[i], 1);
    hopper::make_barrier(&shared.box_free[i], kGroups);
  }
  for (int i = 0; i < pass.rows_ahead; ++i) {
    hopper::make_barrier(&shared.row_full[i], 1);
    hopper::make_barrier(&shared.row_free[i], kGroups);
  }
  hopper::show_barriers();
}

// Which tiles a block makes, and of which chunks.
struct Share {
  int first, step;
  int first_chunk, all_chunks;
};

// Pixels for all taps, from the border on.
__device__ inline void copy_all_rows(const ConvPass& pass, const Place& at,
                                     int channel, char* to, uint64_t* full) {
  using Corner = hopper::Corner<4>;
  const int x = at.x - 1, y = at.y - 1;
  hopper::copy_box(to, &pass.input,
                   pass.images_first ? Corner{channel, at.image, x, y}
                                     : Corner{channel, x, y, at.image},
                   full);
}

// Pixels for a row of taps with stride 2, from the border on if there is one.
// The input is described as pairs of rows of pairs of pixels (conv3x3.cu): taps
// 0 and 2 look at the second row or pixel of a pair, 0 at the pair before.
template <Taps kTaps>
__device__ void copy_one_row(const ConvPass& pass, const Place& at, int channel,
                             int tap_row, char* to, uint64_t* full) {
  using Corner = hopper::Corner<5>;
  constexpr int kSide = side_of(kTaps), kPlanes = kSide == 3 ? 2 : 1;
  const int second = kSide == 3 && tap_row != 1 ? 1 : 0;
  const int x = kSide == 3 ? at.x - 1 : at.x;
  const int y = kSide == 3 && tap_row == 0 ? at.y - 1 : at.y;
#pragma unroll
  for (int plane = 0; plane < kPlanes; ++plane) {
    const int from = plane * pass.input_channels + channel;
    hopper::copy_box(to + plane * pass.odd * kLine, &pass.input,
                     pass.images_first ? Corner{from, at.image, x, second, y}
                                       : Corner{from, x, second, y, at.image},
                     full);
  }
}

template <class Value, Taps kTaps>
__device__ void copy_pixels(const ConvPass& pass, const Shared& shared,
                            const Place& at, int chunk, int tap_row,
                            Turn& turn) {
  const int channel = chunk * (kLine / static_cast<int>(sizeof(Value)));
  uint64_t* full = &shared.box_full[turn.slot];
  char* to = shared.boxes + turn.slot * box_step(pass.shape.box_bytes);
  hopper::wait_for(&shared.box_free[turn.slot], turn.parity ^ 1);
  hopper::arrive_expecting(full, pass.shape.box_bytes);
  if constexpr (kTaps == Taps::k3x3)
    copy_all_rows(pass, at, channel, to, full);
  else
    copy_one_row<kTaps>(pass, at, channel, tap_row, to, full);
  turn.next(kBoxesAhead);
}

// Narrow tiles take a part of a packed block.
template <int kColumns, Taps kTaps>
__device__ void copy_row(const ConvPass& pass, const Shared& shared, int column,
                         int64_t row, Turn& turn) {
  constexpr int kTap = kColumns * kLine, kPackedTap = kPacked * kLine;
  constexpr int kParts = kPacked / kColumns, kSide = side_of(kTaps);
  constexpr int kBytes = row_bytes(kTaps, kColumns);
  uint64_t* full = &shared.row_full[turn.slot];
  hopper::wait_for(&shared.row_free[turn.slot], turn.parity ^ 1);
  hopper::arrive_expecting(full, kBytes);
  char* to = shared.rows + turn.slot * kBytes;
  const char* from =
      pass.kernels + row * kSide * kPackedTap + column % kParts * kTap;
  if (kParts == 1)
    hopper::copy_bytes(to, from, kBytes, full);
  else
    for (int x = 0; x < kSide; ++x)
      hopper::copy_bytes(to + x * kTap, from + x * kPackedTap, kTap, full);
  turn.next(pass.rows_ahead);
}

// The thread that copies. A box's pixels come behind its first row of kernels:
// groups hand back the row before only when they multiply with the next. Behind
// all of its rows at the very first, before the kernel in front has ended:
// kernels were packed before some ordinary launch of the stream, which waits
// for all before it (conv3x3.h).
template <class Value, int kColumns, Taps kTaps>
__device__ void copy_tiles(const ConvPass& pass, const Shared& shared,
                           const Share& share) {
  constexpr int kSide = side_of(kTaps), kRows = rows_of_box(kTaps);
  Turn box, row;
  for (int tile = share.first; tile < pass.tiles; tile += share.step) {
    const Place at = place_of(pass, tile);
    const int packed = at.column / (kPacked / kColumns) * share.all_chunks;
    for (int i = share.first_chunk; i < share.first_chunk + pass.chunks; ++i) {
      const bool is_first = tile == share.first && i == share.first_chunk;
      for (int y = 0; y < kSide; ++y) {
        if (!pass.keeps_rows || tile == share.first)
          copy_row<kColumns, kTaps>(pass, shared, at.column,
                                    (packed + i) * kSide + y, row);
        if (y % kRows == (is_first ? kRows - 1 : 0)) {
          if (is_first) wait_for_kernels();
          copy_pixels<Value, kTaps>(pass, shared, at, i, y, box);
        }
      }
    }
  }
}

template <int kColumns>
__device__ void keep_in_order(Sums<kColumns>& sums) {
  hopper::keep_in_order(sums.patch[0]);
  hopper::keep_in_order(sums.patch[1]);
}

// Where a tap of a row looks, from the row's first pixel on.
template <Taps kTaps>
__device__ int tap_place(const ConvPass& pass, int x) {
  const int column = pass.shape.tap_column;
  if (kTaps != Taps::k3x3Stride2) return x * column;
  return x == 1 ? column : pass.odd + x / 2 * column;
}

template <class Value, int kColumns, Taps kTaps>
__device__ void multiply_row(const ConvPass& pass, uint32_t lines,
                             uint32_t kernels, int group,
                             Sums<kColumns>& sums) {
  hopper::begin_products();
#pragma unroll
  for (int x = 0; x < side_of(kTaps); ++x)
#pragma unroll
    for (int part = 0; part < kLine; part += 32)
#pragma unroll
      for (int p = 0; p < 2; ++p)
        hopper::multiply(
            sums.patch[p],
            hopper::matrix_at(lines + part +
                                  (pass.shape.patch[2 * group + p] +
                                   tap_place<kTaps>(pass, x)) *
                                      kLine,
                              pass.shape.group * kLine),
            hopper::matrix_at(kernels + x * kColumns * kLine + part, 8 * kLine),
            Value());
  hopper::commit_products();
}

// What a group of warps reads next.
struct Reader {
  Turn box, row;
};

// The last box is not handed back: its slot is what comes out.
template <class Value, Taps kTaps, int kColumns>
__device__ int sum_tile(const ConvPass& pass, const Shared& shared, int group,
                        Reader& at, Sums<kColumns>& sums) {
  constexpr int kRows = rows_of_box(kTaps);
  const int boxes = pass.chunks * (side_of(kTaps) / kRows);
  const bool is_group_leader = threadIdx.x % kGroup == 0;
  uint64_t* row_read = nullptr;  // by products that may not have ended
  uint64_t* box_read = nullptr;
  int last_box = 0;
  keep_in_order(sums);
  for (int i = 0; i < boxes; ++i) {
    hopper::wait_for(&shared.box_full[at.box.slot], at.box.parity);
    const uint32_t box = hopper::shared_address(shared.boxes) +
                         at.box.slot * box_step(pass.shape.box_bytes);
    for (int y = 0; y < kRows; ++y) {
      hopper::wait_for(&shared.row_full[at.row.slot], at.row.parity);
      multiply_row<Value, kColumns, kTaps>(
          pass, box + y * pass.shape.tap_row * kLine,
          hopper::shared_address(shared.rows) +
              at.row.slot * row_bytes(kTaps, kColumns),
          group, sums);
      hopper::wait_for_products<1>();
      if (is_group_leader && row_read != nullptr) hopper::arrive(row_read);
      if (is_group_leader && box_read != nullptr) hopper::arrive(box_read);
      row_read = &shared.row_free[at.row.slot];
      box_read = y == kRows - 1 ? &shared.box_free[at.box.slot] : nullptr;
      at.row.next(pass.rows_ahead);
    }
    last_box = at.box.slot;
    at.box.next(kBoxesAhead);
  }
  hopper::wait_for_products<0>();
  keep_in_order(sums);
  if (is_group_leader) hopper::arrive(row_read);
  if (pass.keeps_rows) at.row = {};
  return last_box;
}

// By every thread of a group.
__device__ inline void hand_back_box(const Shared& shared, int slot) {
  if (threadIdx.x % kGroup == 0) hopper::arrive(&shared.box_free[slot]);
}

constexpr int exchanged_bytes(int columns) {
  return columns * kGroup * static_cast<int>(sizeof(float));
}

// The two blocks of a cluster have summed over different channels of the input.
// Each gets the patches of the group of its rank from the other.
template <int kColumns>
__device__ void exchange(float* room, int rank, int group,
                         Sums<kColumns>& sums) {
  constexpr int kSums = kColumns / 2;
  float* slot = room + threadIdx.x % kGroup;
  hopper::meet_cluster();  // nobody needs its boxes any more
  if (group == 1 - rank)
#pragma unroll
    for (int k = 0; k < 2 * kSums; ++k)
      hopper::store_remote(slot + k * kGroup, group,
                           sums.patch[k / kSums][k % kSums]);
  hopper::meet_cluster();
  if (group == rank)
#pragma unroll
    for (int k = 0; k < 2 * kSums; ++k)
      sums.patch[k / kSums][k % kSums] += slot[k * kGroup];
}

// The room for sums is the last box, handed back behind it; or, behind what the
// blocks of a cluster exchanged: those make one tile and need no box again.
template <class Value, int kColumns, int kBlocks>
__device__ void hand_out_sums(const ConvPass& pass, const Shared& shared,
                              const Place& at, int part, int last_box,
                              const Sums<kColumns>& sums) {
  constexpr int kWarps = kGroups * kGroup / 32 / kBlocks;
  char* room = kBlocks == 1
                   ? shared.boxes + last_box * box_step(pass.shape.box_bytes)
                   : shared.boxes + exchanged_bytes(kColumns);
  write_sums<Value, kColumns, kWarps>(pass, at, part,
                                      reinterpret_cast<float*>(room), sums);
  if (kBlocks == 1) hand_back_box(shared, last_box);
}

// Clusters of `kBlocks` share the input's channels of a tile.
template <class Value, int kColumns, int kBlocks, Epilogue kEpilogue,
          Taps kTaps>
__global__ void __launch_bounds__(kThreads, 1)
    convolve(const __grid_constant__ ConvPass pass) {
#if __CUDA_ARCH__ == 900 && defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) char memory[];
  __shared__ uint64_t barriers[kBarriers];
  const Shared shared = share_out(pass, memory, barriers);
  if (threadIdx.x == 0) make_barriers(pass, shared);
  __syncthreads();
  let_next_begin();

  const int group = threadIdx.x / kGroup;
  const int rank = kBlocks == 1 ? 0 : static_cast<int>(hopper::cluster_rank());
  const Share share = {static_cast<int>(blockIdx.x) / kBlocks,
                       static_cast<int>(gridDim.x) / kBlocks,
                       rank * pass.chunks, kBlocks * pass.chunks};
  if (group == kGroups && threadIdx.x % 32 == 0)
    copy_tiles<Value, kColumns, kTaps>(pass, shared, share);
  if (kBlocks == 1 && group == kGroups) return;

  const bool writes = kBlocks > 1 ? group == rank : group < kGroups;
  Reader reader;
  for (int tile = share.first; tile < pass.tiles; tile += share.step) {
    const Place at = place_of(pass, tile);
    Sums<kColumns> sums = {};
    [[maybe_unused]] Residual<Value, kColumns> residual;
    // Where blocks exchange sums, registers are scarce.
    constexpr bool kReadsEarly = kBlocks == 1;
    if constexpr (kEpilogue == Epilogue::kNorm && kReadsEarly) {
      wait_for_kernels();
      residual = read_residual<Value, kColumns>(pass, at, group);
    }
    [[maybe_unused]] int last_box = 0;
    if (group < kGroups) {
      last_box = sum_tile<Value, kTaps>(pass, shared, group, reader, sums);
      if (kEpilogue != Epilogue::kSums) hand_back_box(shared, last_box);
    }
    if (kBlocks > 1) {
      __syncwarp();
      exchange<kColumns>(reinterpret_cast<float*>(memory), rank, group, sums);
    }
    if (!writes) continue;
    wait_for_kernels();
    if constexpr (kEpilogue == Epilogue::kNorm && !kReadsEarly)
      residual = read_residual<Value, kColumns>(pass, at, group);
    if constexpr (kEpilogue == Epilogue::kNorm)
      normalise<Value, kColumns>(pass, at, residual, sums);
    if constexpr (kEpilogue == Epilogue::kSums)
      hand_out_sums<Value, kColumns, kBlocks>(
          pass, shared, at, tile / pass.columns * kBlocks + rank, last_box,
          sums);
#pragma unroll
    for (int p = 0; p < 2; ++p)
      write_patch<Value, kColumns>(pass, at, 2 * group + p, sums.patch[p]);
  }
#else
  __trap();  // the host asks the device first
#endif
}

// Products cut off what TF32 has no bits for: 13 of a float's. Those may be all
// that tell a NaN from infinity, and others would round up to a zero.
__device__ inline float rounded(float value) {
  if (isnan(value)) return __uint_as_float(0x7fffffff);
  return __uint_as_float((__float_as_uint(value) + 0x1000) & ~0x1fffu);
}
__device__ inline __nv_bfloat16 rounded(__nv_bfloat16 value) {
  return value;
}

// Kernels [to, from, 3, 3] or [to, from, 1, 1] as convolve() reads them: blocks
// of kPacked channels of the output by a chunk of the input's, all taps of
// each, with the parts of lines swapped as hopper::matrix_at() says, and
// channels in the order that puts 16 bytes side by side into one thread.
template <class Value>
__global__ void pack(const Value* kernels, Value* packed, int to, int from,
                     int taps) {
  constexpr int kChunk = kLine / sizeof(Value), kWide = 16 / sizeof(Value);
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= int64_t{to} * from * taps) return;
  const int tap = i % taps, in = i / taps % from, out = i / taps / from;

  // The channel is number `pair` of the pairs that one thread stores at once.
  const int pair = out % kWide / 2, quarter = out / kWide % 4;
  const int stretch = out % kPacked / (4 * kWide);
  const int row = 8 * (stretch * kWide / 2 + pair) + 2 * quarter + out % 2;
  const int part = in % kChunk / kWide;
  const int64_t block =
      (int64_t{out / kPacked} * (from / kChunk) + in / kChunk) * taps + tap;
  packed[(block * kPacked + row) * kChunk + (part ^ row % 8) * kWide +
         in % kWide] = rounded(kernels[i]);
}

}  // namespace sotta::conv_tiles
