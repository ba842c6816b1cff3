#include "corrupt/filters/motion_filter.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class MotionBlur : public CorruptionKind {
 public:
  explicit MotionBlur(const KindSetting& setting)
      : filter_(make_filter(severity_constants("motion_blur", setting))) {}

  std::vector<std::vector<int64_t>> fields() const override { return {{}}; }

  void draw(Rng& rng, double* values) const override {
    values[0] = rng.uniform(-45, 45);
  }

  // draws[0] is the angle in degrees.
  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    return filter_(images, draws[0]);
  }

 private:
  static MotionFilter make_filter(const Constants& constants) {
    return {constants[0], constants[1]};
  }

  MotionFilter filter_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_motion_blur(const KindSetting& setting) {
  return std::make_unique<MotionBlur>(setting);
}

}  // namespace sotta
