#include "adapt/screen/look.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

const double kFlat = 0.5 * std::log(1e-4);  // deviation of a filter that is 0

TEST(Look, OfAGreyPlaneIsItsLightness) {
  const at::Tensor look = describe_look(at::full({1, 1, 8, 8}, 0.25F));
  ASSERT_EQ(look.sizes(), at::IntArrayRef({1, look_length(1)}));
  // The constant filter is 1/3 in nine pixels.
  EXPECT_NEAR(look[0][0].item<double>(), 0.75, 1e-6);
  EXPECT_NEAR(look[0][10].item<double>(), 0.75, 1e-6);
  for (const int64_t at : {1, 5, 9, 11, 19})
    EXPECT_NEAR(look[0][at].item<double>(), kFlat, 1e-4) << at;
}

// Of a ramp the filter that goes across alone is the same everywhere, and the
// constant one varies.
TEST(Look, OfARampVariesInTheConstantFilterAlone) {
  const at::Tensor ramp =
      (at::arange(8, at::kFloat) / 8).expand({1, 1, 8, 8}).contiguous();
  const at::Tensor look = describe_look(ramp)[0];
  // Six places, 3/8 apart: variance (3/8)^2 * 35/12.
  const double variance = 9.0 / 64 * 35 / 12;
  EXPECT_NEAR(look[1].item<double>(), 0.5 * std::log(variance + 1e-4), 1e-5);
  for (const int64_t filter : {2, 3, 4, 9})
    EXPECT_NEAR(look[filter].item<double>(), kFlat, 1e-3) << filter;
}

TEST(Look, OfGreyInThreeColoursHasNoDifferenceOfColour) {
  const at::Tensor grey = at::rand({4, 1, 16, 16});
  const at::Tensor one = describe_look(grey);
  const at::Tensor three = describe_look(grey.expand({4, 3, 16, 16}));
  EXPECT_EQ(three.size(1), look_length(3));
  EXPECT_TRUE(at::allclose(three.select(1, 0), one.select(1, 0), 1e-5, 1e-5));
  EXPECT_NEAR(three.select(1, 1).abs().max().item<double>(), 0, 1e-5);
}

TEST(Look, OfBytesIsThatOfTheirFloats) {
  const at::Tensor bytes = (at::rand({3, 3, 9, 7}) * 255).to(at::kByte);
  EXPECT_TRUE(at::allclose(describe_look(bytes),
                           describe_look(bytes.to(at::kFloat) / 255)));
}

TEST(Look, OfAnImageIsItsOwnAffair) {
  const at::Tensor images = at::rand({5, 3, 12, 12});
  EXPECT_TRUE(at::allclose(describe_look(images).narrow(0, 2, 1),
                           describe_look(images.narrow(0, 2, 1)), 1e-5, 1e-6));
}

}  // namespace
}  // namespace sotta
