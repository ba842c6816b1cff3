#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// The corruptions of Hendrycks and Dietterich, "Benchmarking neural network
// robustness to common corruptions and perturbations" (2019): the fifteen in
// the paper's order, then the four extra ones; then those that were registered
// (corruption_kind.h).
std::vector<std::string> corruption_names();

// The fifteen alone.
std::vector<std::string> common_corruption_names();

constexpr int64_t kMaxSeverity = 5;

// Throws Error(kInvalid) outside 1 .. 5.
void check_severity(int64_t severity);

struct CorruptionOptions {
  // One of corruption_names().
  std::string kind = "gaussian_noise";

  // 1 (slight) to 5 (severe).
  int64_t severity = kMaxSeverity;

  // Another seed draws other noise, angles and places for every image. The
  // frost textures that images share are the same for all seeds.
  int64_t seed = 0;

  // A folder with the photographs of the original frost, frost1 to frost5.
  // Empty: procedural textures with their statistics.
  std::string frost_dir;

  // The step that ImageNet-C adds after every corruption: the image is stored
  // as a JPEG of quality 85. Images of up to 64 pixels never take it.
  bool jpeg85 = true;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("kind", kind, "name of the corruption");
    v("severity", severity, "1 (slight) to 5 (severe)");
    v("seed", seed, "seed of the random corruptions");
    v("frost_dir", frost_dir, "folder with the frost photographs");
    v("jpeg85", jpeg85, "store large images as JPEG 85, as ImageNet-C does");
  }
};

// Whether the kind takes the photographs of CorruptionOptions::frost_dir; not
// so for a name that is no kind's, such as that of clean images.
bool takes_photographs(const std::string& kind);

// What the textures of frost are, for records: "photographs", or "procedural"
// without a folder of them.
std::string frost_source(const CorruptionOptions& options);

class CorruptionKind;

// One corruption at one severity, for square images of one size. Images of up
// to 64 pixels take the constants of CIFAR-10-C, larger ones those of
// ImageNet-C.
//
// Const methods may run at once from several threads.
class Corruption {
 public:
  // Throws Error(kInvalid) for an unknown kind, a severity outside 1 .. 5 or a
  // side below 8; for frost also what reading the photographs throws.
  Corruption(CorruptionOptions options, int64_t side);
  ~Corruption();
  Corruption(Corruption&&) noexcept;
  Corruption& operator=(Corruption&&) noexcept;

  const CorruptionOptions& options() const { return options_; }
  int64_t side() const { return side_; }

  // The corrupted images, uint8 on the same device. Takes uint8
  // [N, C, side, side] with one channel or three; grey images are corrupted as
  // grey RGB images of which one channel is kept.
  //
  // indices[n] is the place of image n in its dataset and seeds its draws: the
  // same image, index and seed give the same bytes whatever the batch, its
  // order or the number of threads.
  at::Tensor apply(const at::Tensor& images,
                   const std::vector<int64_t>& indices) const;

 private:
  at::Tensor apply_rgb(const at::Tensor& images,
                       const std::vector<int64_t>& indices) const;

  CorruptionOptions options_;
  int64_t side_;
  std::unique_ptr<const CorruptionKind> kind_;
};

}  // namespace sotta
