#include "corrupt/filters/box_resize.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class Pixelate : public CorruptionKind {
 public:
  explicit Pixelate(const KindSetting& setting)
      : side_(setting.side),
        small_side_(
            static_cast<int64_t>(static_cast<double>(setting.side) *
                                 severity_constants("pixelate", setting)[0])) {}

  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    return box_resize(box_resize(images, small_side_), side_);
  }

 private:
  int64_t side_;
  int64_t small_side_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_pixelate(const KindSetting& setting) {
  return std::make_unique<Pixelate>(setting);
}

}  // namespace sotta
