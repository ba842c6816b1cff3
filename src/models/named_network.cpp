#include "models/named_network.h"

#include <algorithm>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "models/resnet.h"
#include "models/vit.h"
#include "models/wide_resnet.h"

namespace sotta {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Other widths keep their ratio to the first stage's.
void widen(std::vector<int64_t>& widths, int64_t width) {
  const int64_t named = widths[0];
  for (int64_t& each : widths)
    if (width > 0) each = each / named * width;
}

NamedNetwork resnet(const std::string& name, const NetworkTask& task,
                    int64_t width) {
  ResNetSpec spec = named_resnet(name, task.classes, task.channels);
  widen(spec.widths, width);
  require(spec.groups == 0 || spec.widths[0] % spec.groups == 0, "width",
          "expected a multiple of the norm layers' " +
              std::to_string(spec.groups) + " groups, got " +
              std::to_string(spec.widths[0]));
  return {[spec](Rng rng) { return random_resnet_state(spec, rng); },
          [spec](const ModelState& state, const Normalisation& normalisation,
                 const DeviceSettings& settings) {
            return make_resnet(spec, state, normalisation, settings);
          }};
}

NamedNetwork wide_resnet(const std::string& name, const NetworkTask& task,
                         int64_t width) {
  WideResNetSpec spec = named_wide_resnet(name, task.classes, task.channels);
  widen(spec.widths, width);
  return {[spec](Rng rng) { return WideResNetPlan(spec).random_state(rng); },
          [spec](const ModelState& state, const Normalisation& normalisation,
                 const DeviceSettings& settings) {
            return make_wide_resnet(spec, state, normalisation, settings);
          }};
}

NamedNetwork vit(const std::string& name, const NetworkTask& task,
                 int64_t width) {
  VitSpec spec = named_vit(name, task.classes, task.channels);
  if (width > 0) {
    require(width % spec.heads == 0, "width",
            "expected a multiple of the network's " +
                std::to_string(spec.heads) + " heads, got " +
                std::to_string(width));
    spec.dim = width;
    spec.mlp = 4 * width;
  }
  require(task.height == task.width && task.height % spec.patch == 0, "model",
          "expected square images of a multiple of " +
              std::to_string(spec.patch) + " pixels for " + name + ", got " +
              std::to_string(task.height) + "x" + std::to_string(task.width));
  spec.image = task.height;
  return {[spec](Rng rng) { return random_vit_state(spec, rng); },
          [spec](const ModelState& state, const Normalisation& normalisation,
                 const DeviceSettings& settings) {
            return make_vit(spec, state, normalisation, settings);
          }};
}

}  // namespace

std::vector<std::string> network_names() {
  std::vector<std::string> names = resnet_names();
  for (const auto& more : {wide_resnet_names(), vit_names()})
    names.insert(names.end(), more.begin(), more.end());
  return names;
}

NamedNetwork named_network(const std::string& name, const NetworkTask& task,
                           int64_t width) {
  require_one_of("model", name, network_names());
  if (contains(vit_names(), name)) return vit(name, task, width);
  if (contains(wide_resnet_names(), name))
    return wide_resnet(name, task, width);
  return resnet(name, task, width);
}

}  // namespace sotta
