#include <cstdint>
#include <limits>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "sotta/gpu/device.h"

#include "gpu/kernels/picking_kernel.h"

namespace sotta {
namespace {

constexpr int kThreads = 256;

// All that a launch may hand over is 4 kB.
constexpr size_t kMostPlaces = 960;

struct Places {
  int32_t values[kMostPlaces];
};

using Piece = uint4;  // what a thread copies at once
static_assert(sizeof(Piece) == 16);

struct Rows {
  const Piece *front, *back;
  int64_t front_count;
  int64_t pieces;  // of a row
};

// A block for each picked row.
__global__ void pick(Rows rows, const Places places, Piece* to) {
  const int64_t place = places.values[blockIdx.x];
  const Piece* from =
      place < rows.front_count
          ? rows.front + place * rows.pieces
          : rows.back + (place - rows.front_count) * rows.pieces;
  to += static_cast<int64_t>(blockIdx.x) * rows.pieces;
  for (int64_t i = threadIdx.x; i < rows.pieces; i += kThreads)
    to[i] = from[i];
}

int64_t row_bytes(const at::Tensor& tensor) {
  int64_t bytes = tensor.element_size();
  for (int64_t d = 1; d < tensor.dim(); ++d)
    bytes *= tensor.size(d);
  return bytes;
}

const Piece* pieces_of(const at::Tensor& tensor) {
  return static_cast<const Piece*>(tensor.data_ptr());
}

}  // namespace

at::Tensor pick_in_one_kernel(const at::Tensor& front, const at::Tensor& back,
                              const std::vector<int64_t>& places) {
  const auto bytes = row_bytes(front);
  if (!front.is_cuda() || places.empty() || places.size() > kMostPlaces ||
      !front.is_contiguous() || !back.is_contiguous() || bytes == 0 ||
      bytes % static_cast<int64_t>(sizeof(Piece)) != 0 ||
      front.size(0) + back.size(0) > std::numeric_limits<int32_t>::max() ||
      !starts_on_16_bytes(front) || !starts_on_16_bytes(back))
    return {};
  Places given = {};
  for (size_t i = 0; i < places.size(); ++i)
    given.values[i] = static_cast<int32_t>(places[i]);
  auto shape = front.sizes().vec();
  shape[0] = static_cast<int64_t>(places.size());
  const at::Tensor picked = at::empty(shape, front.options());
  const c10::cuda::CUDAGuard guard(front.device());
  pick<<<static_cast<unsigned>(places.size()), kThreads, 0,
         c10::cuda::getCurrentCUDAStream(front.device().index())>>>(
      {pieces_of(front), pieces_of(back), front.size(0),
       bytes / static_cast<int64_t>(sizeof(Piece))},
      given, static_cast<Piece*>(picked.data_ptr()));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return picked;
}

}  // namespace sotta
