#include "models/resnet_forward.h"

#include <cstdint>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "sotta/gpu/device.h"

#include "nn/conv_norm.h"
#include "nn/norm_relu.h"

namespace sotta {
namespace {

// The norm layers of all lanes: the states' flat vectors, one lane's beside
// another's, cut into layers. Splitting a vector is one autograd node, so the
// gradient of the whole vector comes back in one piece.
class NormsInLanes {
 public:
  NormsInLanes(const ResNetPlan& plan, const std::vector<Lane>& lanes)
      : lanes_(lanes), layers_(plan.norms) {
    std::vector<int64_t> affine, channels;
    for (const auto& norm : plan.norms) {
      affine.insert(affine.end(), {norm.channels, norm.channels});
      channels.push_back(norm.channels);
    }
    const auto cut = [&](at::Tensor ModelState::*vector,
                         const std::vector<int64_t>& sizes) {
      std::vector<at::Tensor> all;
      for (const Lane& lane : lanes)
        all.push_back(lane.state.*vector);
      const at::Tensor beside = all.size() == 1 ? all[0] : at::stack(all);
      return beside.split_with_sizes(sizes, -1);
    };
    affine_ = cut(&ModelState::affine, affine);
    running_mean_ = cut(&ModelState::running_mean, channels);
    running_var_ = cut(&ModelState::running_var, channels);
    for (const Lane& lane : lanes)
      alike_ = alike_ && lane.images.size(0) == lanes[0].images.size(0) &&
               lane.stats.source == lanes[0].stats.source &&
               lane.stats.batch_share == lanes[0].stats.batch_share;

    // Zeros for LibTorch's norm layers, which read before they write, and even
    // a share of 0 would keep a NaN. Together: on a GPU each is a kernel. Lanes
    // that are not alike change theirs in ways that autograd must not mix up.
    const at::Tensor& like = lanes[0].state.running_mean;
    if (alike_ && !uses_running(lanes[0]))
      batch_ = at::zeros({count(), 2, like.size(0)}, like.options());
    for (int64_t i = 0; i < count(); ++i)
      batch_of_lane_.push_back(
          uses_running(lanes[static_cast<size_t>(i)]) ? at::Tensor()
          : alike_                                    ? batch_[i]
                   : at::zeros({2, like.size(0)}, like.options()));
  }

  // The convolution and its norm layer in one kernel, if one takes both.
  std::optional<Fork> run_fused(const at::Tensor& input,
                                const PackedLayer& layer, size_t norm,
                                const AfterNorm& after) const {
    if (!layer.kernels.there.defined() || !(is_single() || alike_)) return {};
    return fused_conv_norm(input, layer, vectors_of(norm), lanes_[0].stats,
                           after);
  }

  // Uses up `input`, see norm_relu().
  Fork run(const at::Tensor& input, size_t norm, const AfterNorm& after) const {
    if (is_single() || (alike_ && has_norm_in_lanes(input)))
      return forked_norm_relu(input, vectors_of(norm), lanes_[0].stats, after);
    return run_one_by_one(input, norm, after);
  }

  // What lane i's pass has measured; undefined if it used running averages.
  at::Tensor batch_mean(size_t i) const { return batch(i, 0); }
  at::Tensor batch_var(size_t i) const { return batch(i, 1); }

 private:
  static bool uses_running(const Lane& lane) {
    return lane.stats.source == NormStats::Source::kRunning;
  }

  bool is_single() const { return lanes_.size() == 1; }
  int64_t count() const { return static_cast<int64_t>(lanes_.size()); }

  at::Tensor batch(size_t i, int64_t which) const {
    return batch_of_lane_[i].defined() ? batch_of_lane_[i][which]
                                       : at::Tensor();
  }

  // Of all lanes at once, which are alike.
  NormVectors vectors_of(size_t norm) const {
    if (is_single()) return vectors_of(norm, 0);
    NormVectors vectors{affine_[2 * norm],
                        affine_[2 * norm + 1],
                        running_mean_[norm],
                        running_var_[norm],
                        {},
                        {}};
    if (batch_.defined()) {
      const NormLayer& layer = layers_[norm];
      const at::Tensor both = batch_.narrow(2, layer.offset, layer.channels);
      vectors.batch_mean = both.select(1, 0);
      vectors.batch_var = both.select(1, 1);
    }
    return vectors;
  }

  NormVectors vectors_of(size_t norm, size_t i) const {
    const auto of_lane = [&](const at::Tensor& all) {
      return is_single() ? all : all[static_cast<int64_t>(i)];
    };
    NormVectors vectors{of_lane(affine_[2 * norm]),
                        of_lane(affine_[2 * norm + 1]),
                        of_lane(running_mean_[norm]),
                        of_lane(running_var_[norm]),
                        {},
                        {}};
    if (batch_of_lane_[i].defined()) {
      const NormLayer& layer = layers_[norm];
      const at::Tensor both =
          batch_of_lane_[i].narrow(1, layer.offset, layer.channels);
      vectors.batch_mean = both[0];
      vectors.batch_var = both[1];
    }
    return vectors;
  }

  Fork run_one_by_one(const at::Tensor& input, size_t norm,
                      const AfterNorm& after) const {
    std::vector<at::Tensor> outputs;
    bool in_place = true;
    int64_t begin = 0;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      const int64_t images = lanes_[i].images.size(0);
      const auto part_of = [&](const at::Tensor& all) {
        return all.defined() ? all.narrow(0, begin, images) : all;
      };
      at::Tensor part = part_of(input);
      // Parts that keep their values for the way back must not share a version.
      if (at::GradMode::is_enabled()) part = part.clone();
      outputs.push_back(forked_norm_relu(part, vectors_of(norm, i),
                                         lanes_[i].stats,
                                         {part_of(after.residual), after.relu})
                            .path);
      in_place =
          in_place && outputs.back().data_ptr() == part_of(input).data_ptr();
      begin += images;
    }
    const at::Tensor output = in_place ? input : at::cat(outputs);
    return {output, output};
  }

  const std::vector<Lane>& lanes_;
  bool alike_ = true;  // all of one size, with one kind of statistics
  const std::vector<NormLayer>& layers_;
  std::vector<at::Tensor> affine_, running_mean_, running_var_;
  at::Tensor batch_;  // [lanes, mean and variance, channels], if they are alike
  std::vector<at::Tensor> batch_of_lane_;  // [mean and variance, channels]
};

class Layers {
 public:
  Layers(const ResNetPlan& plan, const ResNetBody& body,
         const std::vector<Lane>& lanes)
      : body_(body), norms_(plan, lanes) {}

  const NormsInLanes& norms() const { return norms_; }

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
    const PackedKernels packed =
        body_.packed.empty() ? PackedKernels() : body_.packed[layer.conv];
    const auto fused = norms_.run_fused(
        input, {packed, layer.stride, layer.padding}, layer.norm, after);
    if (fused) return *fused;
    const at::Tensor output = convolution(input, body_.tensors[layer.conv],
                                          layer.stride, layer.padding, packed);
    return norms_.run(output, layer.norm, after);
  }

  const ResNetBody& body_;
  NormsInLanes norms_;
};

}  // namespace

ResNetBody::ResNetBody(const ResNetPlan& plan, const at::Tensor& flat_body,
                       const ConvolutionForm& wanted)
    : form(wanted) {
  tensors = plan.cut_body(flat_body);
  for (at::Tensor& tensor : tensors) {
    if (tensor.dim() != 4) continue;
    tensor = tensor.to(form.type).contiguous(form.layout);
    // GPUs' convolutions read 16 bytes at a time, from wherever they are told.
    if (tensor.is_cuda() && !starts_on_16_bytes(tensor))
      tensor = tensor.clone();
  }
}

void ResNetBody::pack(const ResNetPlan& plan) {
  packed.resize(tensors.size());
  const auto add = [&](const ConvNorm& layer) {
    packed[layer.conv] = packed_kernels(tensors[layer.conv], layer.stride);
  };
  for (const auto& block : plan.blocks) {
    for (const auto& layer : block.path)
      add(layer);
    if (block.shortcut) add(*block.shortcut);
  }
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
  std::vector<ForwardResult> results;
  int64_t begin = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const int64_t images = lanes[i].images.size(0);
    const auto part_of = [&](const at::Tensor& all) {
      return lanes.size() == 1 ? all : all.narrow(0, begin, images);
    };
    results.push_back({part_of(logits), part_of(features),
                       layers.norms().batch_mean(i),
                       layers.norms().batch_var(i)});
    begin += images;
  }
  return results;
}

}  // namespace sotta
