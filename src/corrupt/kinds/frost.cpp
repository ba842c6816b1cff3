#include "corrupt/kinds/frost.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/corrupt/corruption.h"

#include "corrupt/frost/frost_photographs.h"
#include "corrupt/frost/frost_texture.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

FrostPictures frost_pictures(const std::string& folder) {
  if (!folder.empty()) return read_frost_photographs(folder);
  const auto& made = procedural_frost();
  return {made[0], made[1], made[1], made[2], made[3]};
}

// The original reduces a picture to a fifth for small images, without
// smoothing: every fifth pixel.
at::Tensor every_fifth(const at::Tensor& picture) {
  return picture.slice(0, 2, picture.size(0), 5)
      .slice(1, 2, picture.size(1), 5);
}

int64_t least_side(const FrostPictures& pictures) {
  int64_t least = pictures[0].size(0);
  for (const auto& picture : pictures)
    least = std::min({least, picture.size(0), picture.size(1)});
  return least;
}

// One tensor [5, 3, H, W]; smaller pictures lie in its top left corner.
at::Tensor stacked(const FrostPictures& pictures) {
  int64_t height = 0, width = 0;
  for (const auto& picture : pictures) {
    height = std::max(height, picture.size(0));
    width = std::max(width, picture.size(1));
  }
  const at::Tensor stack =
      at::zeros({kFrostPictures, 3, height, width}, at::kByte);
  for (int64_t i = 0; i < kFrostPictures; ++i)
    stack[i]
        .narrow(1, 0, pictures[i].size(0))
        .narrow(2, 0, pictures[i].size(1))
        .copy_(pictures[i].permute({2, 0, 1}));
  return stack;
}

class Frost : public CorruptionKind {
 public:
  explicit Frost(const KindSetting& setting)
      : side_(setting.side), pictures_(frost_pictures(setting.frost_dir)) {
    const auto constants = severity_constants("frost", setting);
    image_weight_ = constants[0];
    frost_weight_ = constants[1];

    FrostPictures small = pictures_;
    for (auto& picture : small)
      picture = every_fifth(picture);
    if (setting.constants == ConstantSet::kCifar && side_ < least_side(small))
      pictures_ = small;
    require(side_ < least_side(pictures_), "frost",
            "images must have fewer than " +
                std::to_string(least_side(pictures_)) +
                " pixels a side, the textures are no larger; got " +
                std::to_string(side_));
    stack_ = stacked(pictures_);
  }

  // Which picture, and the top left corner of the crop.
  std::vector<std::vector<int64_t>> fields() const override { return {{3}}; }

  void draw(Rng& rng, double* values) const override {
    const int64_t chosen = rng.below(kFrostPictures);
    const at::Tensor& picture = pictures_[static_cast<size_t>(chosen)];
    values[0] = static_cast<double>(chosen);
    values[1] = static_cast<double>(rng.below(picture.size(0) - side_));
    values[2] = static_cast<double>(rng.below(picture.size(1) - side_));
  }

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor frost =
        frost_crops(stack_.to(images.device()), draws[0].to(at::kLong), side_);
    return lay_frost(images, frost, image_weight_, frost_weight_);
  }

 private:
  int64_t side_;
  FrostPictures pictures_;
  double image_weight_;
  double frost_weight_;
  at::Tensor stack_;
};

}  // namespace

at::Tensor frost_crops(const at::Tensor& pictures, const at::Tensor& choices,
                       int64_t side) {
  const int64_t height = pictures.size(2), width = pictures.size(3);
  const at::Tensor steps = at::arange(side, choices.options());
  const auto choice = [&](int64_t i) { return choices.narrow(1, i, 1); };
  const at::Tensor planes = choice(0) * 3 + at::arange(3, choices.options());
  const at::Tensor rows = choice(1) + steps;
  const at::Tensor columns = choice(2) + steps;
  const at::Tensor lines = (planes * height).unsqueeze(2) + rows.unsqueeze(1);
  return pictures.take((lines * width).unsqueeze(3) +
                       columns.unsqueeze(1).unsqueeze(2));
}

at::Tensor lay_frost(const at::Tensor& images, const at::Tensor& frost,
                     double image_weight, double frost_weight) {
  return (images.to(at::kDouble) * image_weight +
          frost.to(at::kDouble) * frost_weight)
      .clamp_(0, 255)
      .to(at::kByte);
}

std::string frost_source(const CorruptionOptions& options) {
  return options.frost_dir.empty() ? "procedural" : "photographs";
}

std::unique_ptr<CorruptionKind> make_frost(const KindSetting& setting) {
  return std::make_unique<Frost>(setting);
}

}  // namespace sotta
