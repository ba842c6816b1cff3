#include "models/resnet_forward.h"

#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/zeros.h>

#include "sotta/gpu/device.h"

#include "nn/norm_relu.h"

namespace sotta {
namespace {

// The norm layers of one lane: the state's flat vectors cut into pieces.
// Splitting a vector is one autograd node, so the gradient of the whole vector
// comes back in one piece.
class LaneNorms {
 public:
  LaneNorms(const ResNetPlan& plan, const Lane& lane)
      : images_(lane.images.size(0)), stats_(lane.stats) {
    const ModelState& state = lane.state;
    std::vector<int64_t> affine, channels;
    for (const auto& norm : plan.norms) {
      affine.insert(affine.end(), {norm.channels, norm.channels});
      channels.push_back(norm.channels);
    }
    affine_ = state.affine.split_with_sizes(affine);
    running_mean_ = state.running_mean.split_with_sizes(channels);
    running_var_ = state.running_var.split_with_sizes(channels);
    if (stats_.source == NormStats::Source::kRunning) return;

    // Zeros for LibTorch's norm layers, which read before they write, and even
    // a share of 0 would keep a NaN. Together: on a GPU each is a kernel.
    const at::Tensor both = at::zeros({2, state.running_mean.size(0)},
                                      state.running_mean.options());
    batch_mean = both[0];
    batch_var = both[1];
    batch_means_ = batch_mean.split_with_sizes(channels);
    batch_vars_ = batch_var.split_with_sizes(channels);
  }

  int64_t images() const { return images_; }

  // Uses up `input`, see norm_relu().
  Fork run(const at::Tensor& input, size_t n, const AfterNorm& after) const {
    NormVectors vectors{affine_[2 * n],
                        affine_[2 * n + 1],
                        running_mean_[n],
                        running_var_[n],
                        {},
                        {}};
    if (batch_mean.defined()) {
      vectors.batch_mean = batch_means_[n];
      vectors.batch_var = batch_vars_[n];
    }
    return forked_norm_relu(input, vectors, stats_, after);
  }

  at::Tensor batch_mean;
  at::Tensor batch_var;

 private:
  int64_t images_;
  NormStats stats_;
  std::vector<at::Tensor> affine_, running_mean_, running_var_, batch_means_,
      batch_vars_;
};

class Layers {
 public:
  Layers(const ResNetPlan& plan, const ResNetBody& body,
         const std::vector<Lane>& lanes)
      : body_(body) {
    for (const Lane& lane : lanes)
      lanes_.emplace_back(plan, lane);
  }

  const std::vector<LaneNorms>& lanes() const { return lanes_; }

  // Images of one channel lie in both layouts at once; what comes after the
  // first convolution does not.
  Fork stem(const at::Tensor& input, const ConvNorm& layer) const {
    const Fork output = conv_norm(input.to(body_.form.type), layer);
    if (output.path.is_contiguous(body_.form.layout)) return output;
    const at::Tensor turned = output.path.contiguous(body_.form.layout);
    return {turned, turned};
  }

  Fork block(const Fork& input, const ResidualBlock& block) const {
    at::Tensor output = input.path;
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      output = conv_norm(output, block.path[i]).path;
    const at::Tensor residual =
        block.shortcut
            ? conv_norm(input.shortcut, *block.shortcut, {{}, /*relu=*/false})
                  .path
            : input.shortcut;
    return conv_norm(output, block.path.back(), {residual});
  }

  at::Tensor classify(const at::Tensor& features) const {
    const auto& tensors = body_.tensors;
    return at::linear(features, tensors[tensors.size() - 2].to(at::kFloat),
                      tensors.back().to(at::kFloat));
  }

 private:
  Fork conv_norm(const at::Tensor& input, const ConvNorm& layer,
                 const AfterNorm& after = {}) const {
    const at::Tensor output = convolution(
        input, body_.tensors[layer.conv], layer.stride, layer.padding,
        body_.packed.empty() ? PackedKernels() : body_.packed[layer.conv]);
    return lanes_.size() == 1 ? lanes_[0].run(output, layer.norm, after)
                              : norm_in_lanes(output, layer.norm, after);
  }

  Fork norm_in_lanes(const at::Tensor& input, size_t norm,
                     const AfterNorm& after) const {
    std::vector<at::Tensor> outputs;
    bool in_place = true;
    int64_t begin = 0;
    for (const LaneNorms& lane : lanes_) {
      const auto part_of = [&](const at::Tensor& all) {
        return all.defined() ? all.narrow(0, begin, lane.images()) : all;
      };
      at::Tensor part = part_of(input);
      // Parts that keep their values for the way back must not share a version.
      if (at::GradMode::is_enabled()) part = part.clone();
      outputs.push_back(
          lane.run(part, norm, {part_of(after.residual), after.relu}).path);
      in_place =
          in_place && outputs.back().data_ptr() == part_of(input).data_ptr();
      begin += lane.images();
    }
    const at::Tensor output = in_place ? input : at::cat(outputs);
    return {output, output};
  }

  const ResNetBody& body_;
  std::vector<LaneNorms> lanes_;
};

}  // namespace

ResNetBody::ResNetBody(const ResNetPlan& plan, const at::Tensor& flat_body,
                       const ConvolutionForm& wanted)
    : form(wanted) {
  std::vector<int64_t> counts;
  for (const auto& tensor : plan.body)
    counts.push_back(tensor.count());
  tensors = flat_body.split_with_sizes(counts);
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i] = tensors[i].view(plan.body[i].shape);
    if (tensors[i].dim() != 4) continue;
    tensors[i] = tensors[i].to(form.type).contiguous(form.layout);
    // GPUs' convolutions read 16 bytes at a time, from wherever they are told.
    if (tensors[i].is_cuda() && !starts_on_16_bytes(tensors[i]))
      tensors[i] = tensors[i].clone();
  }
}

void ResNetBody::pack(const ResNetPlan& plan) {
  packed.resize(tensors.size());
  for (const auto& block : plan.blocks)
    for (const auto& layer : block.path)
      if (layer.stride == 1)
        packed[layer.conv] = packed_kernels(tensors[layer.conv]);
}

at::Tensor join_images_of(const std::vector<Lane>& lanes) {
  std::vector<at::Tensor> images;
  for (const Lane& lane : lanes) {
    const at::Tensor& first = lanes[0].images;
    if (!lane.state.body.is_same(lanes[0].state.body) ||
        lane.images.dim() != 4 ||
        lane.images.sizes().slice(1) != first.sizes().slice(1) ||
        lane.images.scalar_type() != first.scalar_type() ||
        lane.images.device() != first.device() || lane.images.size(0) == 0)
      return {};
    images.push_back(lane.images);
  }
  if (images.empty()) return {};
  return images.size() == 1 ? images[0] : at::cat(images);
}

std::vector<ForwardResult> resnet_forward(const ResNetPlan& plan,
                                          const ResNetBody& body,
                                          const at::Tensor& pixels,
                                          const std::vector<Lane>& lanes) {
  const Layers layers(plan, body, lanes);
  Fork x = layers.stem(pixels, plan.stem);
  if (plan.has_max_pool)
    x.path = x.shortcut = at::max_pool2d(x.path, /*kernel_size=*/3,
                                         /*stride=*/2, /*padding=*/1);
  for (const auto& block : plan.blocks)
    x = layers.block(x, block);
  const at::Tensor features =
      x.path.mean(at::IntArrayRef({2, 3}), /*keepdim=*/false, at::kFloat);
  const at::Tensor logits = layers.classify(features);
  if (lanes.size() == 1)
    return {{logits, features, layers.lanes()[0].batch_mean,
             layers.lanes()[0].batch_var}};

  std::vector<ForwardResult> results;
  int64_t begin = 0;
  for (const LaneNorms& lane : layers.lanes()) {
    results.push_back({logits.narrow(0, begin, lane.images()),
                       features.narrow(0, begin, lane.images()),
                       lane.batch_mean, lane.batch_var});
    begin += lane.images();
  }
  return results;
}

}  // namespace sotta
