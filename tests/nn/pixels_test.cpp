#include "nn/pixels.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Pixels, BytesBecomeFractionsAndFloatsStay) {
  const at::Tensor bytes = at::full({1, 1, 1, 1}, 51, at::kByte);
  const at::Tensor floats = at::full({1, 1, 1, 1}, 0.7, at::kFloat);
  EXPECT_FLOAT_EQ(as_floats(bytes).item<float>(), 0.2f);
  EXPECT_TRUE(as_floats(floats).is_same(floats));
}

}  // namespace
}  // namespace sotta
