#include <tuple>

#include <gtest/gtest.h>

#include "engine/cpu/conv/stem_layer.h"
#include "tests/engine/blocked.h"

namespace sotta::engine {
namespace {

// Inputs, outputs, kernel, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;
class StemSizesTest : public ::testing::TestWithParam<Sizes> {
 protected:
  StemSizesTest()
      : shape_{std::get<0>(GetParam()), std::get<1>(GetParam()),
               std::get<2>(GetParam()), 1},
        images_(random_array({3, shape_.inputs, std::get<3>(GetParam()),
                              std::get<4>(GetParam())},
                             1)),
        weights_(random_array(
            {shape_.outputs, shape_.inputs, shape_.kernel, shape_.kernel}, 2)),
        layer_(shape_, weights_.data()) {}

  ConvShape shape_;
  Array images_, weights_;
  StemLayer layer_;
  TestWorkers workers_{2};
};

TEST_P(StemSizesTest, ConvolvesLikeItsDefinition) {
  const Array expected = naive_conv(images_, weights_, 1);
  const FloatBuffer result(expected.sizes().size());
  ConvCall call;
  call.input = images_.sizes();
  call.output = expected.sizes();
  call.epilogue.out = result.data();

  for_every_target([&] {
    layer_.forward(images_.data(), call, workers_.context);
    expect_close(from_blocked(result, call.output), expected);
  });
}

TEST_P(StemSizesTest, HasTheGradientOfTheImages) {
  ActivationShape output = images_.sizes();
  output.channels = shape_.outputs;
  const Array gradient = random_array(output, 3);
  const FloatBuffer values = to_blocked(gradient);
  Array result(images_.sizes()), expected(images_.sizes());
  add_naive_backward(gradient, weights_, 1, expected);
  ConvCall call;
  call.input = output;
  call.output = images_.sizes();
  call.prologue.values = values.data();

  for_every_target([&] {
    layer_.backward(call, result.values().data(), workers_.context);
    expect_close(result, expected);
  });
}

INSTANTIATE_TEST_SUITE_P(All, StemSizesTest,
                         ::testing::Values(Sizes{3, 16, 3, 6, 5},
                                           Sizes{1, 64, 3, 8, 13},
                                           Sizes{3, 80, 1, 4, 4},
                                           Sizes{16, 32, 7, 5, 9},
                                           Sizes{3, 16, 3, 1, 1}));

}  // namespace
}  // namespace sotta::engine
