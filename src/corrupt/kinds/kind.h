#pragma once

#include "sotta/corrupt/corruption_kind.h"

namespace sotta {

// One source file each.
std::unique_ptr<CorruptionKind> make_gaussian_noise(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_shot_noise(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_impulse_noise(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_defocus_blur(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_glass_blur(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_motion_blur(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_zoom_blur(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_snow(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_frost(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_fog(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_brightness(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_contrast(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_elastic_transform(
    const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_pixelate(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_jpeg_compression(
    const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_speckle_noise(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_gaussian_blur(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_spatter(const KindSetting& setting);
std::unique_ptr<CorruptionKind> make_saturate(const KindSetting& setting);

// A kind by its name. Throws as find_corruption() does.
std::unique_ptr<CorruptionKind> make_kind(const std::string& name,
                                          const KindSetting& setting);

}  // namespace sotta
