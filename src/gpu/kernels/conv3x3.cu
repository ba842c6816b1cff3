#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/BFloat16.h>

#include "sotta/core/error.h"
#include "sotta/gpu/device.h"

#include "gpu/kernels/compute_capability.h"
#include "gpu/kernels/conv3x3.h"
#include "gpu/kernels/conv3x3_plan.cuh"
#include "gpu/kernels/early_launch.cuh"
#include "gpu/kernels/norm_grid.h"

namespace sotta {
namespace {

using namespace conv_tiles;

int attribute(cudaDeviceAttr which, at::Device device) {
  int value = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device.index()));
  return value;
}

bool is_one_of_types(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat ||
         tensor.scalar_type() == at::kBFloat16;
}

int chunk_of(const at::Tensor& tensor) {
  return kLine / static_cast<int>(tensor.element_size());
}

cudaStream_t stream_for(const at::Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.device().index());
}

bool has_taps(int64_t taps, int64_t stride) {
  return (taps == 9 && (stride == 1 || stride == 2)) ||
         (taps == 1 && stride == 2);
}

Taps taps_of(int64_t taps, int64_t stride) {
  if (stride == 1) return Taps::k3x3;
  return taps == 9 ? Taps::k3x3Stride2 : Taps::k1x1Stride2;
}

// Packed kernels are [to / kPacked, from / chunk, taps, kPacked, chunk].
Layer layer_of(const at::Tensor& input, const at::Tensor& packed,
               int64_t stride) {
  const auto size = [&](int64_t d) { return static_cast<int>(input.size(d)); };
  const int step = static_cast<int>(stride);
  return {taps_of(packed.size(2), stride),
          size(0),
          size(2) / step,
          size(3) / step,
          size(1),
          static_cast<int>(packed.size(0)) * kPacked,
          chunk_of(input)};
}

template <class Value, class Stored>
void pack_as(const at::Tensor& kernels, const at::Tensor& packed) {
  constexpr int kThreadsOfBlock = 256;
  const int64_t count = kernels.numel();
  pack<Value>
      <<<static_cast<unsigned>((count + kThreadsOfBlock - 1) / kThreadsOfBlock),
         kThreadsOfBlock, 0, stream_for(kernels)>>>(
          reinterpret_cast<const Value*>(kernels.data_ptr<Stored>()),
          reinterpret_cast<Value*>(packed.data_ptr<Stored>()),
          static_cast<int>(kernels.size(0)), static_cast<int>(kernels.size(1)),
          static_cast<int>(kernels.size(2) * kernels.size(3)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's library is not linked: a program must start without it.
Encode find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  C10_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled",
                                                  &found, /*CUDA*/ 12000,
                                                  cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess)
    fail(ErrorKind::kUnsupported, "convolution",
         "this driver cannot describe tensors for copies, CUDA 12 can");
  return reinterpret_cast<Encode>(found);
}

// A size of the input: how many, how far from one to the next, how many of
// them a box has.
struct Extent {
  int count;
  int64_t bytes;
  int of_box;
};

// The input's sizes, behind the channels. With stride 2 they are pairs of
// pixels, whose channels lie side by side, rows of a pair, and pairs of rows: a
// box then has every second pixel of every second row.
std::vector<Extent> extents_of(const at::Tensor& input, const Layer& layer,
                               const ConvPass& pass) {
  const int stride = stride_of(layer.taps);
  const Box box = box_of(layer.taps, pass.tile_side);
  const int64_t pixel = layer.from * input.element_size();
  const int64_t row = pixel * stride * layer.width;
  const Extent x = {layer.width, pixel * stride, box.width},
               row_of_pair = {stride, row, 1},
               y = {layer.height, row * stride, box.height},
               image = {layer.images, y.bytes * layer.height, pass.tile_images};
  std::vector<Extent> sizes = {x};
  if (stride == 2) sizes.push_back(row_of_pair);
  sizes.push_back(y);
  sizes.insert(pass.images_first ? sizes.begin() : sizes.end(), image);
  return sizes;
}

// Floats are rounded to TF32 as they are copied.
CUtensorMap describe(const at::Tensor& input, const Layer& layer,
                     const ConvPass& pass) {
  static const Encode encode = find_encode();
  const std::vector<Extent> order = extents_of(input, layer, pass);
  cuuint64_t counts[5] = {
      static_cast<cuuint64_t>(layer.from * stride_of(layer.taps))};
  cuuint64_t strides[4];
  cuuint32_t box[5] = {static_cast<cuuint32_t>(layer.chunk)};
  const cuuint32_t every[5] = {1, 1, 1, 1, 1};
  for (size_t i = 0; i < order.size(); ++i) {
    counts[i + 1] = static_cast<cuuint64_t>(order[i].count);
    strides[i] = static_cast<cuuint64_t>(order[i].bytes);
    box[i + 1] = static_cast<cuuint32_t>(order[i].of_box);
  }
  CUtensorMap map;
  const CUresult result = encode(
      &map,
      input.scalar_type() == at::kFloat ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                        : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      static_cast<cuuint32_t>(order.size() + 1), input.data_ptr(), counts,
      strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    fail(ErrorKind::kUnsupported, "convolution",
         "the driver refuses a tensor of " + std::to_string(layer.images) +
             " images");
  return map;
}

// All that a block of the device can have.
int most_shared_bytes(at::Device device) {
  return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device) -
         kReservedBytes;
}

// The limit is the kernel's, for all threads: one that does not depend on what
// this launch needs.
template <class Value, Epilogue kEpilogue, int kColumns, int kBlocks,
          Taps kTaps>
void launch(const Plan& plan, const at::Tensor& input) {
  const auto kernel = convolve<Value, kColumns, kBlocks, kEpilogue, kTaps>;
  C10_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           most_shared_bytes(input.device())));
  launch_early({plan.grid, kThreads, stream_for(input),
                static_cast<size_t>(plan.shared_bytes), kBlocks},
               kernel, plan.pass);
}

template <class Value, Epilogue kEpilogue, int kColumns, int kBlocks>
void launch(const Plan& plan, const at::Tensor& input) {
  if (plan.taps == Taps::k3x3)
    launch<Value, kEpilogue, kColumns, kBlocks, Taps::k3x3>(plan, input);
  else if (plan.taps == Taps::k3x3Stride2)
    launch<Value, kEpilogue, kColumns, kBlocks, Taps::k3x3Stride2>(plan, input);
  else
    launch<Value, kEpilogue, kColumns, kBlocks, Taps::k1x1Stride2>(plan, input);
}

template <class Value, Epilogue kEpilogue>
void launch(const Plan& plan, const at::Tensor& input) {
  if (plan.blocks == 1)
    launch<Value, kEpilogue, kPacked, 1>(plan, input);
  else if (plan.columns == kPacked)
    launch<Value, kEpilogue, kPacked, 2>(plan, input);
  else
    launch<Value, kEpilogue, kPacked / 2, 2>(plan, input);
}

template <Epilogue kEpilogue>
void launch(const Plan& plan, const at::Tensor& input) {
  if (input.scalar_type() == at::kFloat)
    launch<float, kEpilogue>(plan, input);
  else
    launch<__nv_bfloat16, kEpilogue>(plan, input);
}

at::Tensor empty_output(const at::Tensor& input, const Layer& layer) {
  return at::empty({layer.images, layer.to, layer.height, layer.width},
                   input.options(), at::MemoryFormat::ChannelsLast);
}

// All but the epilogue.
Plan plan_for(const at::Tensor& input, const at::Tensor& packed,
              const Layer& layer, const at::Tensor& output) {
  Plan made = plan(layer, multiprocessors(input.device()),
                   most_shared_bytes(input.device()));
  require(made.pass.rows_ahead >= fewest_rows(layer.taps), "convolution",
          "this GPU has too little shared memory");
  made.pass.input = describe(input, layer, made.pass);
  made.pass.kernels = static_cast<const char*>(packed.data_ptr());
  made.pass.output = output.data_ptr();
  return made;
}

// A thread reads four numbers at once.
bool is_vector_for(const at::Tensor& vector, int64_t lanes, int64_t channels,
                   at::Device device) {
  return vector.defined() && vector.scalar_type() == at::kFloat &&
         vector.device() == device && lanes_of(vector) == lanes &&
         vector.numel() == lanes * channels && vector.stride(-1) == 1 &&
         starts_on_16_bytes(vector) &&
         (vector.dim() == 1 || vector.stride(0) % 4 == 0);
}

// No tile has images of two lanes.
bool has_lanes_of_tiles(const Layer& layer, int64_t lanes) {
  return lanes > 0 && layer.images % lanes == 0 &&
         layer.images / lanes % tiles_of(layer).tile_images == 0;
}

int64_t step_of(const at::Tensor& vectors) {
  return vectors.dim() == 2 ? vectors.stride(0) : 0;
}

}  // namespace

at::Tensor pack_kernels(const at::Tensor& kernels, int64_t stride) {
  if (kernels.dim() != 4 || kernels.numel() == 0 ||
      kernels.size(2) != kernels.size(3) ||
      !has_taps(kernels.size(2) * kernels.size(3), stride) ||
      !is_one_of_types(kernels) || compute_capability(kernels.device()) != 90 ||
      kernels.size(0) % kPacked != 0 || kernels.size(1) % kPacked != 0)
    return {};
  const c10::cuda::CUDAGuard guard(kernels.device());
  const at::Tensor source = kernels.detach().contiguous();
  const int chunk = chunk_of(kernels);
  const at::Tensor packed =
      at::empty({kernels.size(0) / kPacked, kernels.size(1) / chunk,
                 kernels.size(2) * kernels.size(3), kPacked, chunk},
                source.options());
  if (kernels.scalar_type() == at::kFloat)
    pack_as<float, float>(source, packed);
  else
    pack_as<__nv_bfloat16, c10::BFloat16>(source, packed);
  return packed;
}

bool fits_conv3x3(const at::Tensor& input, const at::Tensor& packed,
                  int64_t stride) {
  return packed.defined() && has_taps(packed.size(2), stride) &&
         input.device() == packed.device() &&
         input.scalar_type() == packed.scalar_type() && input.dim() == 4 &&
         input.size(1) == packed.size(1) * packed.size(4) &&
         input.size(2) % stride == 0 && input.size(3) % stride == 0 &&
         input.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         starts_on_16_bytes(input) && covers(layer_of(input, packed, stride));
}

at::Tensor conv3x3(const at::Tensor& input, const at::Tensor& packed,
                   int64_t stride) {
  const c10::cuda::CUDAGuard guard(input.device());
  const Layer layer = layer_of(input, packed, stride);
  at::Tensor output = empty_output(input, layer);
  launch<Epilogue::kNone>(plan_for(input, packed, layer, output), input);
  return output;
}

OutputSums output_sums_for(const at::Tensor& input, const at::Tensor& packed,
                           const at::Tensor& running_mean, int64_t stride) {
  if (!fits_conv3x3(input, packed, stride) || !running_mean.defined())
    return {};
  const Layer layer = layer_of(input, packed, stride);
  const int64_t lanes = lanes_of(running_mean);
  if (!is_vector_for(running_mean, lanes, layer.to, input.device()) ||
      !has_lanes_of_tiles(layer, lanes))
    return {};
  const Plan made = plan(layer, multiprocessors(input.device()),
                         most_shared_bytes(input.device()));
  const int64_t parts = made.pass.tiles / made.pass.columns * made.blocks;
  return {running_mean, at::empty({lanes, parts / lanes, 2, layer.to},
                                  running_mean.options())};
}

at::Tensor conv3x3_sums(const at::Tensor& input, const at::Tensor& packed,
                        const OutputSums& sums, int64_t stride) {
  const c10::cuda::CUDAGuard guard(input.device());
  const Layer layer = layer_of(input, packed, stride);
  at::Tensor output = empty_output(input, layer);
  Plan made = plan_for(input, packed, layer, output);
  made.pass.over = {
      sums.running_mean.data_ptr<float>(), step_of(sums.running_mean),
      static_cast<int>(input.size(0) / lanes_of(sums.running_mean)),
      sums.parts.data_ptr<float>()};
  launch<Epilogue::kSums>(made, input);
  return output;
}

bool fits_conv3x3_norm(const at::Tensor& input, const at::Tensor& packed,
                       const NormBehind& norm, int64_t stride) {
  if (!fits_conv3x3(input, packed, stride) || !norm.vectors.scale.defined())
    return false;
  const Layer layer = layer_of(input, packed, stride);
  const int64_t lanes = lanes_of(norm.vectors.scale);
  const auto fits = [&](const at::Tensor& vector) {
    return is_vector_for(vector, lanes, layer.to, input.device());
  };
  const auto& [scale, shift, mean, var, own_mean, own_var] = norm.vectors;
  const at::Tensor& added = norm.residual;
  return fits(scale) && fits(shift) && fits(mean) && fits(var) &&
         step_of(scale) == step_of(shift) && step_of(mean) == step_of(var) &&
         has_lanes_of_tiles(layer, lanes) &&
         (!added.defined() ||
          (added.sizes() == at::IntArrayRef({layer.images, layer.to,
                                             layer.height, layer.width}) &&
           added.scalar_type() == input.scalar_type() &&
           added.device() == input.device() && starts_on_16_bytes(added) &&
           added.is_contiguous(at::MemoryFormat::ChannelsLast)));
}

at::Tensor conv3x3_norm(const at::Tensor& input, const at::Tensor& packed,
                        const NormBehind& norm, int64_t stride) {
  const c10::cuda::CUDAGuard guard(input.device());
  const Layer layer = layer_of(input, packed, stride);
  at::Tensor output = empty_output(input, layer);
  Plan made = plan_for(input, packed, layer, output);
  const NormVectors& vectors = norm.vectors;
  made.pass.norm = {
      vectors.scale.data_ptr<float>(),
      vectors.shift.data_ptr<float>(),
      vectors.running_mean.data_ptr<float>(),
      vectors.running_var.data_ptr<float>(),
      step_of(vectors.scale),
      step_of(vectors.running_mean),
      static_cast<int>(input.size(0) / lanes_of(vectors.scale)),
      norm.residual.defined() ? norm.residual.data_ptr() : nullptr,
      norm.relu};
  launch<Epilogue::kNorm>(made, input);
  return output;
}

}  // namespace sotta
