#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_bf16.h>

// What GPUs of compute capability 9.0 do beside their threads, as functions:
// copies into shared memory that say when they have arrived, and products of
// matrices that lie there. PTX's own documentation has the details.

namespace sotta::hopper {

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Barriers. A phase ends when all arrivals and announced bytes are there;
// phases are told apart by their parity, the first has 0.

__device__ inline void make_barrier(uint64_t* barrier, int arrivals) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(arrivals));
}

// Behind all make_barrier(), before any other thread or copy uses them.
__device__ inline void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void arrive(uint64_t* barrier) {
  asm volatile(
      "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
      : "memory");
}

__device__ inline void arrive_expecting(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ inline void wait_for(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// Some warps of the block meet, kThreads threads, at one of its barriers 1 to
// 15; __syncthreads() is barrier 0.
template <int kBarrier, int kThreads>
__device__ inline void meet() {
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}

// What this thread has read and written in shared memory comes before copies
// into it that are begun after the next barrier.
__device__ inline void leave_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Copies into shared memory, counted by a barrier.

// Where a box begins, along each of a tensor's sizes.
template <int kSizes>
struct Corner {
  int at[kSizes];
};

// A box of a tensor in memory; what lies outside of the tensor comes as zeros.
__device__ inline void copy_box(void* to, const CUtensorMap* from,
                                const Corner<4>& corner, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(to)),
      "l"(from), "r"(corner.at[0]), "r"(corner.at[1]), "r"(corner.at[2]),
      "r"(corner.at[3]), "r"(shared_address(barrier))
      : "memory");
}

__device__ inline void copy_box(void* to, const CUtensorMap* from,
                                const Corner<5>& corner, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(shared_address(to)),
      "l"(from), "r"(corner.at[0]), "r"(corner.at[1]), "r"(corner.at[2]),
      "r"(corner.at[3]), "r"(corner.at[4]), "r"(shared_address(barrier))
      : "memory");
}

__device__ inline void copy_bytes(void* to, const void* from, uint32_t bytes,
                                  uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// Clusters: blocks that may write to each other's shared memory.

__device__ inline uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of all blocks meet, and see what each wrote before.
__device__ inline void meet_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

__device__ inline void store_remote(float* local, uint32_t rank, float value) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(shared_address(local)), "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value)
               : "memory");
}

// Products. 128 threads multiply 64 rows by 64 or 32, each row 32 bytes of
// a 128-byte line, and add to 32 or 16 floats in every thread: of row
// 16 w + l / 4 for warp w and lane l the numbers 4 n and 4 n + 1 are columns
// 8 n + 2 (l % 4) and the next, 4 n + 2 and 4 n + 3 those of eight rows below.

// Where a matrix lies: lines of 128 bytes, eight of them one after the other,
// `stride` bytes from those to the next eight. The 16-byte parts of a line are
// swapped as copy_box() does: by the address's bits 7 to 9.
__device__ inline uint64_t matrix_at(uint32_t address, uint32_t stride) {
  constexpr uint64_t kSwap128 = 1ull << 62;
  return kSwap128 | (static_cast<uint64_t>(stride >> 4) << 32) | (1ull << 16) |
         (address >> 4);
}

// The compiler does not see that products change sums between the two below: it
// must not move what else is done with them.
template <int kCount>
__device__ inline void keep_in_order(float (&sums)[kCount]) {
#pragma unroll
  for (float& sum : sums)
    asm volatile("" : "+f"(sum)::"memory");
}

__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

#define SOTTA_SUMS_16(s, i)                                                   \
  "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3]), "+f"(s[i + 4]), \
      "+f"(s[i + 5]), "+f"(s[i + 6]), "+f"(s[i + 7]), "+f"(s[i + 8]),         \
      "+f"(s[i + 9]), "+f"(s[i + 10]), "+f"(s[i + 11]), "+f"(s[i + 12]),      \
      "+f"(s[i + 13]), "+f"(s[i + 14]), "+f"(s[i + 15])
#define SOTTA_NAMES_16 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define SOTTA_NAMES_32                                        \
  SOTTA_NAMES_16                                              \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, " \
  "%27, %28, %29, %30, %31"

__device__ inline void multiply(float (&sums)[32], uint64_t rows,
                                uint64_t columns, float /*type*/) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
      "{" SOTTA_NAMES_32 "}, %32, %33, 1, 1, 1;"
      : SOTTA_SUMS_16(sums, 0), SOTTA_SUMS_16(sums, 16)
      : "l"(rows), "l"(columns));
}

__device__ inline void multiply(float (&sums)[16], uint64_t rows,
                                uint64_t columns, float /*type*/) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 "
      "{" SOTTA_NAMES_16 "}, %16, %17, 1, 1, 1;"
      : SOTTA_SUMS_16(sums, 0)
      : "l"(rows), "l"(columns));
}

__device__ inline void multiply(float (&sums)[32], uint64_t rows,
                                uint64_t columns, __nv_bfloat16 /*type*/) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{" SOTTA_NAMES_32 "}, %32, %33, 1, 1, 1, 0, 0;"
      : SOTTA_SUMS_16(sums, 0), SOTTA_SUMS_16(sums, 16)
      : "l"(rows), "l"(columns));
}

__device__ inline void multiply(float (&sums)[16], uint64_t rows,
                                uint64_t columns, __nv_bfloat16 /*type*/) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
      "{" SOTTA_NAMES_16 "}, %16, %17, 1, 1, 1, 0, 0;"
      : SOTTA_SUMS_16(sums, 0)
      : "l"(rows), "l"(columns));
}

#undef SOTTA_SUMS_16
#undef SOTTA_NAMES_16
#undef SOTTA_NAMES_32

}  // namespace sotta::hopper
