#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "gpu/kernels/conv3x3.h"

namespace sotta {

// Convolution without bias: input [N, C, H, W], weight [O, C, h, w], the same
// stride and padding in both directions.
//
// LibTorch's fast CPU library sums the gradient of the weight in an order that
// depends on the number of threads. Here it is summed image by image, with the
// same bits at any thread count, at two to three times that gradient's cost.
// On other devices it is plain at::conv2d. With a weight that is not trained,
// LibTorch would still keep the input for the pass back; here it does not.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       int64_t stride, int64_t padding);

// Kernels that are not trained, ready for our own convolution on GPUs that have
// one: 3x3 with stride 1 or 2, 1x1 with stride 2, rounded to TF32 or bfloat16.
// Undefined elsewhere.
struct PackedKernels {
  at::Tensor there;  // from input to output
  // From the output's gradient to the input's: with stride 1 turned and packed,
  // with stride 2 the weight as it is, for LibTorch.
  at::Tensor back;
  int64_t stride = 1;

  int64_t taps() const { return there.size(2); }
};
PackedKernels packed_kernels(const at::Tensor& weight, int64_t stride = 1);

// The same with kernels that may be packed: where that convolution takes the
// input, the weight is not looked at and gets no gradient.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       int64_t stride, int64_t padding,
                       const PackedKernels& packed);

// Whether that convolution takes the input as it is, not filled up.
bool is_own_convolution(const at::Tensor& input, int64_t stride,
                        int64_t padding, const PackedKernels& packed);

// That convolution, of an input it takes. It measures its output on the way for
// the norm layer behind it, unless `sums` has no parts.
at::Tensor own_convolution(const at::Tensor& input, const PackedKernels& packed,
                           const OutputSums& sums = {});

// As long as one lives, its thread's convolutions on a GPU work on at least so
// many images, black ones behind a smaller batch. A GPU's library makes plans
// for every new size of a batch: too long for sizes that come once. May change
// the last bits.
class LeastBatch {
 public:
  explicit LeastBatch(int64_t images);
  ~LeastBatch();
  LeastBatch(const LeastBatch&) = delete;
  LeastBatch& operator=(const LeastBatch&) = delete;

 private:
  int64_t before_;
};

}  // namespace sotta
