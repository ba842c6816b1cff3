#include <algorithm>
#include <utility>

#include "sotta/corrupt/corruption.h"

#include "core/registry.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

constexpr size_t kCommonKinds = 15;

// The paper's fifteen in its order, then its four extra ones.
Registry<CorruptionEntry>& registry() {
  static Registry<CorruptionEntry> entries(
      "corruption",
      {
          {"gaussian_noise", "Gauss.", make_gaussian_noise},
          {"shot_noise", "Shot", make_shot_noise},
          {"impulse_noise", "Impulse", make_impulse_noise},
          {"defocus_blur", "Defocus", make_defocus_blur},
          {"glass_blur", "Glass", make_glass_blur},
          {"motion_blur", "Motion", make_motion_blur},
          {"zoom_blur", "Zoom", make_zoom_blur},
          {"snow", "Snow", make_snow},
          {"frost", "Frost", make_frost, /*takes_photographs=*/true},
          {"fog", "Fog", make_fog},
          {"brightness", "Bright.", make_brightness},
          {"contrast", "Contrast", make_contrast},
          {"elastic_transform", "Elastic", make_elastic_transform},
          {"pixelate", "Pixel.", make_pixelate},
          {"jpeg_compression", "JPEG", make_jpeg_compression},
          {"speckle_noise", "", make_speckle_noise},
          {"gaussian_blur", "", make_gaussian_blur},
          {"spatter", "", make_spatter},
          {"saturate", "", make_saturate},
      });
  return entries;
}

}  // namespace

void register_corruption(CorruptionEntry entry) {
  require(entry.make != nullptr, "corruption " + entry.name,
          "expected a function that makes it, got none");
  registry().add(std::move(entry));
}

const CorruptionEntry& find_corruption(const std::string& name) {
  return registry().find(name);
}

std::unique_ptr<CorruptionKind> make_kind(const std::string& name,
                                          const KindSetting& setting) {
  return find_corruption(name).make(setting);
}

bool takes_photographs(const std::string& kind) {
  const auto known = corruption_names();
  return std::count(known.begin(), known.end(), kind) > 0 &&
         find_corruption(kind).takes_photographs;
}

std::vector<std::string> corruption_names() {
  return registry().names();
}

std::vector<std::string> common_corruption_names() {
  auto names = corruption_names();
  names.resize(kCommonKinds);
  return names;
}

}  // namespace sotta
