#include "engine/cuda/cuda_classifier.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/constant_pad_nd.h>

#include "sotta/core/error.h"
#include "sotta/gpu/device.h"

#include "engine/wrapped_classifier.h"
#include "gpu/kernels/compute_capability.h"
#include "gpu/kernels/pixel_rows.h"
#include "gpu/settings_scope.h"
#include "models/pixel_input.h"
#include "models/resnet.h"
#include "models/resnet_forward.h"

namespace sotta::engine {
namespace {

// From so many images on, packing weights for one pass takes less than it
// saves.
constexpr int64_t kImagesWorthPacking = 512;

// The stem's kernels for what pixel_rows() gives: what lies behind a pixel's
// channels counts nothing.
at::Tensor widened(const at::Tensor& kernels) {
  const int64_t added =
      pixel_row_width(kernels.scalar_type()) - kernels.size(1);
  return added < 0 ? kernels
                   : at::constant_pad_nd(kernels, {0, 0, 0, 0, 0, added})
                         .contiguous(at::MemoryFormat::ChannelsLast);
}

class CudaClassifier : public WrappedClassifier {
 public:
  CudaClassifier(std::unique_ptr<Classifier> reference, const ResNetSpec& spec)
      : WrappedClassifier(std::move(reference)),
        settings_(device_settings()),
        plan_(spec),
        input_(normalisation(), source().body),
        body_(plan_, source().body, form_for(source())),
        body_for_rows_(body_) {
    // Packing rounds to TF32.
    if (settings_.precision != Precision::kFloat32) body_.pack(plan_);
    body_for_rows_.packed = body_.packed;
    at::Tensor& stem = body_for_rows_.tensors[plan_.stem.conv];
    stem = widened(stem);
    wait_for(stem.device());  // other threads may use it from other queues
  }

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    return run(images, {{images, state, stats}})[0];
  }

  std::vector<ForwardResult> forward_lanes(
      const std::vector<Lane>& lanes) const override {
    const at::Tensor images = join_images_of(lanes);
    return images.defined() ? run(images, lanes)
                            : Classifier::forward_lanes(lanes);
  }

  // Convolutions are shared by lanes that share a body.
  bool gains_from_lanes(const Lane& lane) const override {
    return lane.state.body.is_same(source().body);
  }

  std::string engine() const override {
    return cuda_engine(source().body.device());
  }

 private:
  std::vector<ForwardResult> run(const at::Tensor& images,
                                 const std::vector<Lane>& lanes) const {
    const ModelState& state = lanes[0].state;  // they share its body
    const at::Device device = state.affine.device();
    const SettingsScope scope(settings_, device);
    const ConvolutionForm form = form_for(state);
    const bool trained = state.body.requires_grad();
    const bool is_source = !trained && state.body.is_same(source().body);
    if (is_source && has_pixel_rows(images, form.type))
      return resnet_forward(plan_, body_for_rows_,
                            input_.normalise_to_rows(images, device, form.type),
                            lanes);
    const at::Tensor pixels = input_.normalise(images, device);
    if (is_source) return resnet_forward(plan_, body_, pixels, lanes);

    ResNetBody body(plan_, state.body, form);
    if (!trained && images.size(0) >= kImagesWorthPacking &&
        settings_.precision != Precision::kFloat32)
      body.pack(plan_);
    return resnet_forward(plan_, body, pixels, lanes);
  }

  ConvolutionForm form_for(const ModelState& state) const {
    return {settings_.precision == Precision::kBfloat16
                ? at::kBFloat16
                : state.body.scalar_type(),
            at::MemoryFormat::ChannelsLast};
  }

  DeviceSettings settings_;
  ResNetPlan plan_;
  PixelInput input_;
  // Of the source's body, which most methods never change; the second with a
  // stem for pixel_rows().
  ResNetBody body_, body_for_rows_;
};

}  // namespace

std::string cuda_engine(at::Device device) {
  const int capability = compute_capability(device);
  return capability == 0 ? "" : "cuda-sm" + std::to_string(capability);
}

std::vector<std::string> cuda_engines() {
  std::vector<std::string> names;
  for (const std::string& device : available_devices()) {
    const std::string name = cuda_engine(parse_device(device));
    if (!name.empty() &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  return names;
}

bool is_cuda(const Classifier& model) {
  return dynamic_cast<const CudaClassifier*>(&model) != nullptr;
}

bool has_cuda_engine(const Classifier& model) {
  const ResNetSpec* spec = resnet_spec(model);
  return spec != nullptr && spec->groups == 0 &&
         model.device_settings().precision != Precision::kFloat32 &&
         !cuda_engine(model.source().body.device()).empty();
}

std::unique_ptr<Classifier> make_cuda(std::unique_ptr<Classifier> model) {
  const ResNetSpec* spec = resnet_spec(*model);
  require(spec != nullptr && spec->groups == 0, "cuda engine",
          "expected a ResNet with batch norm");
  return std::make_unique<CudaClassifier>(std::move(model), *spec);
}

}  // namespace sotta::engine
