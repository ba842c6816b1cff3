#include "sotta/core/error.h"
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

std::unique_ptr<CorruptionKind> not_yet(const KindSetting&) {
  fail(ErrorKind::kUnsupported, "corruption", "this kind is not there yet");
}

// The paper's fifteen in its order, then its four extra ones.
const std::vector<KindEntry>& registry() {
  static const std::vector<KindEntry> entries = {
      {"gaussian_noise", make_gaussian_noise},
      {"shot_noise", not_yet},
      {"impulse_noise", not_yet},
      {"defocus_blur", not_yet},
      {"glass_blur", make_glass_blur},
      {"motion_blur", not_yet},
      {"zoom_blur", not_yet},
      {"snow", make_snow},
      {"frost", make_frost},
      {"fog", make_fog},
      {"brightness", make_brightness},
      {"contrast", not_yet},
      {"elastic_transform", make_elastic_transform},
      {"pixelate", not_yet},
      {"jpeg_compression", not_yet},
      {"speckle_noise", not_yet},
      {"gaussian_blur", not_yet},
      {"spatter", make_spatter},
      {"saturate", not_yet},
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
