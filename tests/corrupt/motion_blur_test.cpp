#include <ATen/ops/tensor.h>

#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(MotionBlur, MatchesThePublishedScript) {
  const testing::ReferenceImages golden("motion_blur");
  const double large_angle[] = {17.5, 8, -30.25, -12.5, 44};
  for (int severity = 1; severity <= 5; ++severity) {
    SCOPED_TRACE("severity " + std::to_string(severity));
    KindSetting small;
    small.severity = severity;
    KindSetting large = small;
    large.side = 224;
    large.constants = ConstantSet::kImageNet;

    const at::Tensor found = make_motion_blur(small)->apply(
        golden.input(), {at::tensor({-42.1875, -36.5625}, at::kDouble)});
    const at::Tensor large_found = make_motion_blur(large)->apply(
        testing::reference_picture(),
        {at::tensor({large_angle[severity - 1]}, at::kDouble)});

    testing::expect_same_bytes(found, golden.small(severity), 0);
    testing::expect_same_bytes(testing::reference_sample(large_found),
                               golden.large(severity), 0);
  }
}

TEST(MotionBlur, DrawsAnglesUpToFortyFiveDegrees) {
  const auto kind = make_motion_blur({});
  Rng rng(1);
  double lowest = 0;
  double highest = 0;

  for (int i = 0; i < 1000; ++i) {
    double angle = 0;
    kind->draw(rng, &angle);
    lowest = std::min(lowest, angle);
    highest = std::max(highest, angle);
  }

  EXPECT_GE(lowest, -45);
  EXPECT_LT(lowest, -44);
  EXPECT_LT(highest, 45);
  EXPECT_GT(highest, 44);
}

}  // namespace
}  // namespace sotta
