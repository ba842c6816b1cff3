#include "sotta/core/options.h"
#include "sotta/corrupt/corruption.h"

#include "corrupt/kind.h"

namespace sotta {
namespace {

constexpr size_t kCommonKinds = 15;

struct KindEntry {
  std::string name;
  std::unique_ptr<CorruptionKind> (*make)(const KindSetting&);
};

// The paper's fifteen in its order, then its four extra ones.
const std::vector<KindEntry>& registry() {
  static const std::vector<KindEntry> entries = {
      {"gaussian_noise", make_gaussian_noise},
      {"shot_noise", make_shot_noise},
      {"impulse_noise", make_impulse_noise},
      {"defocus_blur", make_defocus_blur},
      {"glass_blur", make_glass_blur},
      {"motion_blur", make_motion_blur},
      {"zoom_blur", make_zoom_blur},
      {"snow", make_snow},
      {"frost", make_frost},
      {"fog", make_fog},
      {"brightness", make_brightness},
      {"contrast", make_contrast},
      {"elastic_transform", make_elastic_transform},
      {"pixelate", make_pixelate},
      {"jpeg_compression", make_jpeg_compression},
      {"speckle_noise", make_speckle_noise},
      {"gaussian_blur", make_gaussian_blur},
      {"spatter", make_spatter},
      {"saturate", make_saturate},
  };
  return entries;
}

}  // namespace

std::vector<std::string> corruption_names() {
  std::vector<std::string> names;
  for (const auto& entry : registry())
    names.push_back(entry.name);
  return names;
}

std::vector<std::string> common_corruption_names() {
  auto names = corruption_names();
  names.resize(kCommonKinds);
  return names;
}

std::unique_ptr<CorruptionKind> make_kind(const std::string& name,
                                          const KindSetting& setting) {
  for (const auto& entry : registry())
    if (entry.name == name) return entry.make(setting);
  fail_unknown_name("corruption", name, corruption_names());
}

}  // namespace sotta
