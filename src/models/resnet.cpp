#include "models/resnet.h"

#include <cstdint>

#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"

#include "gpu/settings_scope.h"
#include "models/own_network.h"
#include "models/resnet_forward.h"
#include "models/resnet_plan.h"

namespace sotta {
namespace {

class ResNetClassifier : public OwnNetwork {
 public:
  ResNetClassifier(const ResNetSpec& spec, const ModelState& state,
                   const Normalisation& normalisation,
                   const DeviceSettings& settings)
      : OwnNetwork(ResNetPlan(spec), state, normalisation, settings),
        spec_(spec),
        plan_(spec) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    const at::Device device = state.affine.device();
    const SettingsScope scope(device_settings(), device);
    const ResNetBody body(plan_, state.body,
                          {type_for(state), images.suggest_memory_format()});
    const at::Tensor pixels = input().normalise(images, device);
    if (spec_.groups == 0)
      return resnet_forward(plan_, body, pixels, {{images, state, stats}})[0];
    ForwardResult result = group_norm_forward(plan_, body, pixels, state);
    if (stats.source != NormStats::Source::kRunning) {
      result.batch_mean = at::zeros_like(state.running_mean);
      result.batch_var = at::zeros_like(state.running_var);
    }
    return result;
  }

  const ResNetSpec& spec() const { return spec_; }
  int64_t classes() const override { return spec_.classes; }
  std::map<std::string, std::string> metadata() const override {
    if (spec_.groups == 0) return {};
    return {{"groups", std::to_string(spec_.groups)}};
  }

 private:
  ResNetSpec spec_;
  ResNetPlan plan_;
};

}  // namespace

ModelState random_resnet_state(const ResNetSpec& spec, Rng rng) {
  return ResNetPlan(spec).random_state(rng);
}

std::unique_ptr<Classifier> make_resnet(const ResNetSpec& spec,
                                        const ModelState& state,
                                        const Normalisation& normalisation,
                                        const DeviceSettings& settings) {
  require(!spec.widths.empty() && spec.widths.size() == spec.blocks.size(),
          "make_resnet", "expected as many widths as block counts");
  check_channels(normalisation, spec.channels);
  for (const int64_t width : spec.widths)
    require(spec.groups == 0 || width % spec.groups == 0, "make_resnet",
            "expected groups that divide the widths");
  return std::make_unique<ResNetClassifier>(spec, state, normalisation,
                                            settings);
}

const ResNetSpec* resnet_spec(const Classifier& model) {
  const auto* resnet = dynamic_cast<const ResNetClassifier*>(&model);
  return resnet ? &resnet->spec() : nullptr;
}

}  // namespace sotta
