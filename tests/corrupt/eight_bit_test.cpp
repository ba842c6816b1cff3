#include "corrupt/filters/eight_bit.h"

#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(EightBit, TruncatesAndClips) {
  const at::Tensor values =
      at::tensor({-.1, 0., .9 / 255, 1.999 / 255, .9999, 1., 7.}, at::kDouble);

  const at::Tensor bytes = bytes_from_unit(values);

  EXPECT_TRUE(bytes.equal(at::tensor({0, 0, 0, 1, 254, 255, 255}, at::kByte)));
}

TEST(EightBit, DividesCorrectlyRounded) {
  const at::Tensor units = unit_from_bytes(at::arange(256, at::kByte));
  for (int v = 0; v < 256; ++v)
    EXPECT_EQ(units[v].item<double>(), v / 255.0);
}

TEST(EightBit, WorksInTheValuesOwnPrecision) {
  // The float next below 200 / 255 gives 199 in float32.
  const float below = std::nextafter(200 / 255.0f, 0.0f);
  const at::Tensor values = at::tensor({below}, at::kFloat);
  EXPECT_EQ(bytes_from_unit(values).item<int>(),
            static_cast<int>(below * 255.0f));
}

}  // namespace
}  // namespace sotta
