#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/models/classifier.h"

#include "models/resnet_plan.h"
#include "nn/convolution.h"

namespace sotta {

// What convolutions are computed in.
struct ConvolutionForm {
  at::ScalarType type;
  at::MemoryFormat layout;
};

// The body of a state, cut into tensors and brought into a form.
struct ResNetBody {
  ConvolutionForm form;
  std::vector<at::Tensor> tensors;    // one for each of ResNetPlan::body
  std::vector<PackedKernels> packed;  // likewise, or empty: none is packed

  // Once here, else LibTorch would convert weights in both passes.
  ResNetBody(const ResNetPlan& plan, const at::Tensor& flat_body,
             const ConvolutionForm& form);

  // Packs what our own convolution can take. The body must not be trained.
  void pack(const ResNetPlan& plan);
};

// The lanes' images as one batch, if one pass can take them: they share a body,
// and their images differ in number alone. Undefined if not.
at::Tensor join_images_of(const std::vector<Lane>& lanes);

// The network itself, on every engine that computes with LibTorch's tensors.
// `pixels` are the images of all lanes, normalised, and as wide as the stem's
// kernels. Convolutions take all lanes at once, norm layers one by one.
// Gradients flow to pixels, the states' affine vectors and the body's tensors.
std::vector<ForwardResult> resnet_forward(const ResNetPlan& plan,
                                          const ResNetBody& body,
                                          const at::Tensor& pixels,
                                          const std::vector<Lane>& lanes);

// The same of a network with group norm, whose images do not see each other.
ForwardResult group_norm_forward(const ResNetPlan& plan, const ResNetBody& body,
                                 const at::Tensor& pixels,
                                 const ModelState& state);

}  // namespace sotta
