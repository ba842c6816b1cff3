#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"

namespace sotta {

// Which of the two published sets of constants.
enum class ConstantSet { kCifar, kImageNet };

struct KindSetting {
  int64_t severity = 5;  // 1 .. 5
  int64_t side = 32;     // of the square images
  ConstantSet constants = ConstantSet::kCifar;
  std::string frost_dir;  // empty: procedural textures
};

// The random numbers of a batch: one tensor per field of
// CorruptionKind::fields(), float64 [N, ...field], on the images' device.
using Draws = std::vector<at::Tensor>;

// One corruption with its constants, split into what is drawn and what is
// computed, so that known draws can be put in. Const methods may run at once
// from several threads.
class CorruptionKind {
 public:
  virtual ~CorruptionKind() = default;

  // The shapes of what is drawn for one image; none for a fixed corruption.
  virtual std::vector<std::vector<int64_t>> fields() const { return {}; }

  // Draws for one image: writes the fields one after another, each in C order.
  virtual void draw(Rng& /*rng*/, double* /*values*/) const {}

  // uint8 [N, 3, side, side] to the same. What it gives for an image must not
  // depend on the others.
  virtual at::Tensor apply(const at::Tensor& images,
                           const Draws& draws) const = 0;
};

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

// The kinds by name, in the order of corruption_names(). Throws Error(kInvalid)
// for an unknown name, with the nearest known one.
std::unique_ptr<CorruptionKind> make_kind(const std::string& name,
                                          const KindSetting& setting);

}  // namespace sotta
