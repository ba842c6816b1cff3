#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "nn/augment.h"
#include "tests/support/golden.h"

namespace sotta::testing {

inline AugmentParameters golden_parameters(const nlohmann::json& view) {
  AugmentParameters parameters;
  for (size_t i = 0; i < parameters.colours.size(); ++i)
    parameters.colours[i] = {
        static_cast<ColourOperation>(view.at("order").at(i).get<int>()),
        view.at("factors").at(i)};
  parameters.angle = view.at("angle");
  parameters.translate_x = view.at("translate_x");
  parameters.translate_y = view.at("translate_y");
  parameters.scale = view.at("scale");
  parameters.blur_sigma = view.at("sigma");
  parameters.flip = view.at("flip");
  return parameters;
}

// The parameters of the views in nn/augment.
inline std::vector<AugmentParameters> golden_views(const Golden& golden) {
  std::vector<AugmentParameters> views;
  for (const auto& view : nlohmann::json::parse(golden.metadata("views")))
    views.push_back(golden_parameters(view));
  return views;
}

// The name of a stage of a view's images.
inline std::string stage(size_t view, const std::string& name) {
  return "view" + std::to_string(view) + "." + name;
}

// The images without `margin` pixels on every side.
inline at::Tensor inside(const at::Tensor& images, int64_t margin) {
  return images.narrow(2, margin, images.size(2) - 2 * margin)
      .narrow(3, margin, images.size(3) - 2 * margin);
}

}  // namespace sotta::testing
