#pragma once

#include <string>
#include <vector>

#include "corrupt/filters/noise_field.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {

// The frame of the kinds that draw one normal number per value of an image.
class NormalNoise : public CorruptionKind {
 public:
  NormalNoise(const std::string& name, const KindSetting& setting)
      : side_(setting.side), deviation_(severity_constants(name, setting)[0]) {}

  std::vector<std::vector<int64_t>> fields() const override {
    return {{3, side_, side_}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_normals(rng, values, 3 * side_ * side_);
  }

 protected:
  double deviation() const { return deviation_; }

 private:
  int64_t side_;
  double deviation_;
};

}  // namespace sotta
