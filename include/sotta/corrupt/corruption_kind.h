#pragma once

#include <cstdint>
#include <functional>
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

struct CorruptionEntry {
  std::string name;   // in options and records
  std::string label;  // in tables, short; empty: the name
  std::function<std::unique_ptr<CorruptionKind>(const KindSetting&)> make;
  bool takes_photographs = false;  // of KindSetting::frost_dir
};

// Adds a corruption to corruption_names(). Throws Error(kInvalid) for a name
// that is taken or none.
void register_corruption(CorruptionEntry entry);

// Throws Error(kInvalid) for an unknown name, with the nearest known one.
const CorruptionEntry& find_corruption(const std::string& name);

}  // namespace sotta
