#include "models/resnet.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

#include "gpu/device_queue.h"
#include "gpu/settings_scope.h"
#include "models/pixel_input.h"
#include "models/resnet_forward.h"
#include "models/resnet_plan.h"

namespace sotta {
namespace {

class ResNetClassifier : public Classifier {
 public:
  ResNetClassifier(const ResNetSpec& spec, ModelState state,
                   const Normalisation& normalisation,
                   const DeviceSettings& settings)
      : spec_(spec),
        plan_(spec),
        source_(std::move(state)),
        normalisation_(normalisation),
        input_(normalisation, source_.body),
        settings_(settings),
        shared_(settings.shared) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    const at::Device device = state.affine.device();
    const SettingsScope scope(settings_, device);
    const ResNetBody body(plan_, state.body,
                          {type_for(state), images.suggest_memory_format()});
    return resnet_forward(plan_, body, input_.normalise(images, device),
                          {{images, state, stats}})[0];
  }

  const ResNetSpec& spec() const { return spec_; }
  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return spec_.classes; }
  int64_t channels() const override { return spec_.channels; }
  std::string engine() const override { return "libtorch"; }
  DeviceSettings device_settings() const override { return settings_; }
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
    return settings_.precision == Precision::kBfloat16
               ? at::kBFloat16
               : state.body.scalar_type();
  }

  ResNetSpec spec_;
  ResNetPlan plan_;
  ModelState source_;
  Normalisation normalisation_;
  PixelInput input_;
  DeviceSettings settings_;
  SharedDevice shared_;
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
                                        const DeviceSettings& settings) {
  check_precision(settings.precision, state.body.device());
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
                                            settings);
}

const ResNetSpec* resnet_spec(const Classifier& model) {
  const auto* resnet = dynamic_cast<const ResNetClassifier*>(&model);
  return resnet ? &resnet->spec() : nullptr;
}

}  // namespace sotta
