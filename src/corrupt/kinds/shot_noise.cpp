#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/take.h>
#include <ATen/ops/tensor.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/noise_field.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

// A Poisson count is found from a uniform number by its distribution function.
// An image has 256 values, so there are 256 functions F, and one sorted table
// holds them all: value + F(0), value + F(1), ... for every value.
class ShotNoise : public CorruptionKind {
 public:
  explicit ShotNoise(const KindSetting& setting)
      : side_(setting.side),
        photons_(severity_constants("shot_noise", setting)[0]) {
    std::vector<double> table;
    std::vector<int64_t> starts;
    for (int value = 0; value < 256; ++value) {
      starts.push_back(static_cast<int64_t>(table.size()));
      append_distribution(value, table);
    }
    table_ = at::tensor(table, at::kDouble);
    starts_ = at::tensor(starts);
  }

  std::vector<std::vector<int64_t>> fields() const override {
    return {{3, side_, side_}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_uniforms(rng, values, 3 * side_ * side_, 0, kLargestUniform);
  }

  // draws[0] is uniform in [0, 1).
  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor values = images.to(at::kLong);
    const at::Tensor counts =
        at::searchsorted(table_.to(images.device()), draws[0] + values,
                         /*out_int32=*/false, /*right=*/true) -
        at::take(starts_.to(images.device()), values);
    return bytes_from_unit(divide(counts.to(at::kDouble), photons_));
  }

 private:
  // Its sum with any value stays below the next value.
  static constexpr double kLargestUniform = 1 - 0x1p-40;

  void append_distribution(int value, std::vector<double>& table) const {
    const double mean = value / 255.0 * photons_;
    double probability = std::exp(-mean);
    double sum = probability;
    for (int count = 1; sum < kLargestUniform; ++count) {
      table.push_back(value + sum);
      probability *= mean / count;
      sum += probability;
    }
    table.push_back(value + 1);
  }

  int64_t side_;
  double photons_;
  at::Tensor table_;   // float64, ascending
  at::Tensor starts_;  // int64 [256], where each value's function begins
};

}  // namespace

std::unique_ptr<CorruptionKind> make_shot_noise(const KindSetting& setting) {
  return std::make_unique<ShotNoise>(setting);
}

}  // namespace sotta
