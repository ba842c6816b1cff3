#include "corrupt/filters/noise_field.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(NoiseField, DrawsOneNumberPerElement) {
  Rng rng(5);
  Rng same(5);
  std::vector<double> values(4);

  draw_normals(rng, values.data(), 4);

  for (const double value : values)
    EXPECT_EQ(value, same.normal());
}

TEST(NoiseField, UniformNumbersStayInTheirRange) {
  Rng rng(5);
  std::vector<double> values(1000);

  draw_uniforms(rng, values.data(), 1000, -1, 1);

  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1);
  EXPECT_LT(*std::min_element(values.begin(), values.end()), -.99);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), .99);
}

}  // namespace
}  // namespace sotta
