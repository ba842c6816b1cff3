#include "corrupt/kinds/glass_blur.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/gaussian_filter.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

// Rows, or columns, that a pass visits.
int64_t visited_lines(int64_t side, int64_t reach) {
  return std::max<int64_t>(0, side - 2 * reach);
}

at::Tensor visited_part(const at::Tensor& pixels, int64_t reach) {
  const int64_t lines = visited_lines(pixels.size(-1), reach);
  return pixels.narrow(-2, reach + 1, lines).narrow(-1, reach + 1, lines);
}

// Follows copies of copies to the value before the pass. Position p of the
// first `pixels` nodes is the pixel after the pass, p + pixels the one before.
at::Tensor resolve(const at::Tensor& sources, const at::Tensor& visited) {
  const int64_t pixels = sources.size(1);
  const at::Tensor here = at::arange(pixels, sources.options());
  const at::Tensor already_copied =
      (sources > here).logical_and_(visited.take(sources));
  const at::Tensor before = (here + pixels).expand_as(sources);

  at::Tensor ends = at::where(already_copied, sources, sources + pixels);
  // Each round doubles the length of the chains that are followed.
  for (int64_t length = 1; length < pixels; length *= 2) {
    const at::Tensor further = at::cat({ends, before}, 1).gather(1, ends);
    if (further.equal(ends)) break;
    ends = further;
  }
  return ends - pixels;
}

class GlassBlur : public CorruptionKind {
 public:
  explicit GlassBlur(const KindSetting& setting)
      : GlassBlur(setting.side, severity_constants("glass_blur", setting)) {}

  std::vector<std::vector<int64_t>> fields() const override {
    const int64_t lines = visited_lines(side_, reach_);
    return {{passes_, lines, lines, 2}};
  }

  void draw(Rng& rng, double* values) const override {
    const int64_t lines = visited_lines(side_, reach_);
    const int64_t count = passes_ * lines * lines * 2;
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<double>(rng.below(2 * reach_) - reach_);
  }

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    at::Tensor pixels = blur(images).flatten(2);
    for (int64_t pass = 0; pass < passes_; ++pass) {
      const at::Tensor sources =
          glass_sources(draws[0].select(1, pass), side_, reach_);
      pixels = pixels.gather(2, sources.unsqueeze(1).expand_as(pixels));
    }
    return blur(pixels.view_as(images));
  }

 private:
  GlassBlur(int64_t side, const Constants& constants)
      : side_(side),
        smooth_(constants[0]),
        reach_(static_cast<int64_t>(constants[1])),
        passes_(static_cast<int64_t>(constants[2])) {}

  at::Tensor blur(const at::Tensor& images) const {
    return bytes_from_unit(smooth_(unit_from_bytes(images)));
  }

  int64_t side_;
  GaussianFilter smooth_;
  int64_t reach_;
  int64_t passes_;
};

}  // namespace

at::Tensor glass_sources(const at::Tensor& moves, int64_t side, int64_t reach) {
  const at::Tensor steps = moves.flip({1, 2}).to(at::kLong);
  const at::Tensor here =
      at::arange(side * side, steps.options()).view({side, side});
  const at::Tensor sources = here.repeat({moves.size(0), 1, 1});
  visited_part(sources, reach)
      .add_(steps.select(3, 0) + steps.select(3, 1) * side);
  // A move of at most one never points to a pixel that was visited before.
  if (reach == 1) return sources.flatten(1);

  const at::Tensor visited = at::zeros_like(here, at::kBool);
  visited_part(visited, reach).fill_(true);
  return resolve(sources.flatten(1), visited);
}

std::unique_ptr<CorruptionKind> make_glass_blur(const KindSetting& setting) {
  return std::make_unique<GlassBlur>(setting);
}

}  // namespace sotta
