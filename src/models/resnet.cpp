#include "models/resnet.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/gpu/device.h"

#include "gpu/kernels/pixel_rows.h"
#include "models/pixel_input.h"
#include "models/resnet_plan.h"
#include "nn/convolution.h"
#include "nn/norm_relu.h"

namespace sotta {
namespace {

// What convolutions are computed in.
struct Form {
  at::ScalarType type;
  at::MemoryFormat layout;
};

// The body's vector cut into tensors, the convolutions' in the form given: once
// here, else LibTorch does it in both passes.
std::vector<at::Tensor> cut_body(const ResNetPlan& plan, const at::Tensor& body,
                                 const Form& form) {
  std::vector<int64_t> counts;
  for (const auto& tensor : plan.body)
    counts.push_back(tensor.count());
  std::vector<at::Tensor> tensors = body.split_with_sizes(counts);
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i] = tensors[i].view(plan.body[i].shape);
    if (tensors[i].dim() != 4) continue;
    tensors[i] = tensors[i].to(form.type).contiguous(form.layout);
    // GPUs' convolutions read 16 bytes at a time, from wherever they are told.
    if (tensors[i].is_cuda() && !starts_on_16_bytes(tensors[i]))
      tensors[i] = tensors[i].clone();
  }
  return tensors;
}

// One for each of the body's tensors, undefined for those that are not packed.
std::vector<PackedKernels> pack_body(const ResNetPlan& plan,
                                     const std::vector<at::Tensor>& tensors) {
  std::vector<PackedKernels> packed(tensors.size());
  for (const auto& block : plan.blocks)
    for (const auto& layer : block.path)
      if (layer.stride == 1)
        packed[layer.conv] = packed_kernels(tensors[layer.conv]);
  return packed;
}

// Kernels for what pixel_rows() gives: the numbers behind a pixel's channels
// count nothing.
at::Tensor widened(const at::Tensor& kernels) {
  const int64_t more = pixel_row_width(kernels.scalar_type()) - kernels.size(1);
  return more < 0 ? kernels
                  : at::constant_pad_nd(kernels, {0, 0, 0, 0, 0, more})
                        .contiguous(at::MemoryFormat::ChannelsLast);
}

// The body's tensors, and the packed ones if it is the source's.
struct Body {
  std::vector<at::Tensor> tensors;
  const std::vector<PackedKernels>* packed;

  at::Tensor convolve(const at::Tensor& input, const ConvNorm& layer) const {
    return convolution(input, tensors[layer.conv], layer.stride, layer.padding,
                       packed ? (*packed)[layer.conv] : PackedKernels());
  }
};

// One forward pass: the state's flat vectors cut into layers. Splitting a
// vector is one autograd node, so the gradient of the whole vector comes back
// in one piece.
class Pass {
 public:
  Pass(const ResNetPlan& plan, Body body, const ModelState& state,
       NormStats stats, const Form& form)
      : stats_(stats), form_(form), body_(std::move(body)) {
    std::vector<int64_t> affine, channels;
    for (const auto& norm : plan.norms) {
      affine.insert(affine.end(), {norm.channels, norm.channels});
      channels.push_back(norm.channels);
    }
    affine_ = state.affine.split_with_sizes(affine);
    running_mean_ = state.running_mean.split_with_sizes(channels);
    running_var_ = state.running_var.split_with_sizes(channels);
    if (stats.source == NormStats::Source::kRunning) return;

    // Zeros for LibTorch's norm layers, which read before they write, and even
    // a share of 0 would keep a NaN. Together: on a GPU each is a kernel.
    const at::Tensor both = at::zeros({2, state.running_mean.size(0)},
                                      state.running_mean.options());
    batch_mean = both[0];
    batch_var = both[1];
    batch_means_ = batch_mean.split_with_sizes(channels);
    batch_vars_ = batch_var.split_with_sizes(channels);
  }

  Fork conv_norm(const at::Tensor& input, const ConvNorm& layer,
                 const AfterNorm& after = {}) const {
    const size_t n = layer.norm;
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
    return forked_norm_relu(body_.convolve(input, layer), vectors, stats_,
                            after);
  }

  // Images of one channel lie in both layouts at once; what comes after the
  // first convolution does not.
  Fork stem(const at::Tensor& input, const ConvNorm& layer) const {
    const Fork output = conv_norm(input.to(form_.type), layer);
    if (output.path.is_contiguous(form_.layout)) return output;
    const at::Tensor turned = output.path.contiguous(form_.layout);
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

  at::Tensor batch_mean;
  at::Tensor batch_var;

 private:
  NormStats stats_;
  Form form_;
  Body body_;
  std::vector<at::Tensor> affine_, running_mean_, running_var_, batch_means_,
      batch_vars_;
};

class ResNetClassifier : public Classifier {
 public:
  ResNetClassifier(const ResNetSpec& spec, ModelState state,
                   const Normalisation& normalisation, Precision precision)
      : spec_(spec),
        plan_(spec),
        source_(std::move(state)),
        normalisation_(normalisation),
        input_(normalisation, source_.body),
        bfloat16_(precision == Precision::kBfloat16),
        channels_last_(source_.body.is_cuda() &&
                       precision != Precision::kFloat32) {
    if (!channels_last_) return;
    converted_ = cut_body(plan_, source_.body,
                          {type_for(source_), at::MemoryFormat::ChannelsLast});
    for_rows_ = converted_;
    for_rows_[plan_.stem.conv] = widened(converted_[plan_.stem.conv]);
    packed_ = pack_body(plan_, converted_);
  }

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    const Form form{type_for(state), channels_last_
                                         ? at::MemoryFormat::ChannelsLast
                                         : images.suggest_memory_format()};
    const bool converted = channels_last_ && state.body.is_same(source_.body);
    const bool in_rows = converted && has_pixel_rows(images, form.type);
    const Pass pass(
        plan_,
        {in_rows     ? for_rows_
         : converted ? converted_
                     : cut_body(plan_, state.body, form),
         converted && !state.body.requires_grad() ? &packed_ : nullptr},
        state, stats, form);
    const at::Device device = state.affine.device();
    Fork x =
        pass.stem(in_rows ? input_.normalise_to_rows(images, device, form.type)
                          : input_.normalise(images, device),
                  plan_.stem);
    if (spec_.stem == ResNetSpec::Stem::kImagenet)
      x.path = x.shortcut = at::max_pool2d(x.path, /*kernel_size=*/3,
                                           /*stride=*/2, /*padding=*/1);
    for (const auto& block : plan_.blocks)
      x = pass.block(x, block);
    const at::Tensor features =
        x.path.mean(at::IntArrayRef({2, 3}), /*keepdim=*/false, at::kFloat);
    return {pass.classify(features), features, pass.batch_mean, pass.batch_var};
  }

  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return spec_.classes; }
  int64_t channels() const override { return spec_.channels; }
  std::string engine() const override { return "libtorch"; }
  const std::vector<NormLayer>& norm_layers() const override {
    return plan_.norms;
  }
  const Normalisation& normalisation() const override { return normalisation_; }

  NamedTensors named_tensors(const ModelState& state) const override {
    NamedTensors tensors = named_norm_tensors(state, plan_.norms);
    int64_t start = 0;
    for (const auto& tensor : plan_.body) {
      tensors[tensor.name] =
          state.body.narrow(0, start, tensor.count()).view(tensor.shape);
      start += tensor.count();
    }
    return tensors;
  }

 private:
  at::ScalarType type_for(const ModelState& state) const {
    return bfloat16_ ? at::kBFloat16 : state.body.scalar_type();
  }

  ResNetSpec spec_;
  ResNetPlan plan_;
  ModelState source_;
  Normalisation normalisation_;
  PixelInput input_;
  bool bfloat16_;
  bool channels_last_;  // always, not only for images that are
  // source_.body, which most methods never change, if channels_last_; the
  // second with a stem for pixel_rows(), the last for our own convolution.
  std::vector<at::Tensor> converted_, for_rows_;
  std::vector<PackedKernels> packed_;
};

void require_size(const at::Tensor& vector, int64_t size, const char* name) {
  require(vector.dim() == 1 && vector.size(0) == size &&
              vector.scalar_type() == at::kFloat,
          "make_resnet",
          std::string("expected a float vector ") + name + " of " +
              std::to_string(size) + " values");
}

}  // namespace

ModelState random_resnet_state(const ResNetSpec& spec, Rng rng) {
  const ResNetPlan plan(spec);
  ModelState state;
  state.body = at::empty({plan.body_size()}, at::kFloat);
  auto* value = state.body.data_ptr<float>();
  for (size_t i = 0; i < plan.body.size(); ++i) {
    // The bias of the classifier is drawn by the fan-in of its weight.
    const auto& shaped =
        i + 1 < plan.body.size() ? plan.body[i] : plan.body[i - 1];
    const double bound = std::sqrt(static_cast<double>(shaped.shape[0]) /
                                   static_cast<double>(shaped.count()));
    for (int64_t k = 0; k < plan.body[i].count(); ++k)
      *value++ = static_cast<float>(rng.uniform(-bound, bound));
  }
  const int64_t channels = plan.norm_channels();
  state.affine = at::zeros({2 * channels}, at::kFloat);
  for (const auto& norm : plan.norms)
    state.affine.narrow(0, 2 * norm.offset, norm.channels).fill_(1);
  state.running_mean = at::zeros({channels}, at::kFloat);
  state.running_var = at::ones({channels}, at::kFloat);
  return state;
}

std::unique_ptr<Classifier> make_resnet(const ResNetSpec& spec,
                                        const ModelState& state,
                                        const Normalisation& normalisation,
                                        Precision precision) {
  require(!spec.widths.empty() && spec.widths.size() == spec.blocks.size(),
          "make_resnet", "expected as many widths as block counts");
  const ResNetPlan plan(spec);
  require_size(state.body, plan.body_size(), "body");
  require_size(state.affine, 2 * plan.norm_channels(), "affine");
  require_size(state.running_mean, plan.norm_channels(), "running_mean");
  require_size(state.running_var, plan.norm_channels(), "running_var");
  check_normalisation(normalisation);
  check_channels(normalisation, spec.channels);
  return std::make_unique<ResNetClassifier>(spec, state, normalisation,
                                            precision);
}

}  // namespace sotta
