#include <tuple>

#include <gtest/gtest.h>

#include "engine/cpu/conv/direct_layer.h"
#include "tests/engine/blocked.h"
#include "tests/engine/summed_call.h"

namespace sotta::engine {
namespace {

// Inputs, outputs, kernel, stride, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;
class DirectSizes : public ::testing::TestWithParam<Sizes> {
 protected:
  DirectSizes()
      : shape_{std::get<0>(GetParam()), std::get<1>(GetParam()),
               std::get<2>(GetParam()), std::get<3>(GetParam())},
        input_{9, shape_.inputs, std::get<4>(GetParam()),
               std::get<5>(GetParam())},
        output_(shape_.output(input_)),
        weights_(random_array(
            {shape_.outputs, shape_.inputs, shape_.kernel, shape_.kernel}, 1)),
        layer_(shape_, weights_.data()) {}

  ConvShape shape_;
  ActivationShape input_, output_;
  Array weights_;
  DirectLayer layer_;
  TestWorkers workers_{2};
};

TEST_P(DirectSizes, ConvolvesLikeItsDefinition) {
  const auto geometry = layer_.geometry(input_);
  const Array images = random_array(input_, 2);
  const FloatBuffer input = to_blocked(images), result(output_.size());
  ConvCall call;
  call.input = input_;
  call.output = output_;
  call.prologue.values = input.data();
  call.epilogue.out = result.data();
  const Array expected = naive_conv(images, weights_, shape_.stride);

  for_every_target([&] {
    layer_.forward(call, geometry, workers_.context);
    expect_close(from_blocked(result, output_), expected);
  });
}

TEST_P(DirectSizes, HasTheGradientOfItsInput) {
  const auto geometry = layer_.geometry(input_);
  const Array gradient = random_array(output_, 3);
  const FloatBuffer values = to_blocked(gradient), result(input_.size());
  ConvCall call;
  call.input = output_;
  call.output = input_;
  call.prologue.values = values.data();
  call.epilogue.out = result.data();
  Array expected(input_);
  add_naive_backward(gradient, weights_, shape_.stride, expected);

  for_every_target([&] {
    layer_.backward(call, geometry, workers_.context);
    expect_close(from_blocked(result, input_), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, DirectSizes,
    ::testing::Values(Sizes{16, 32, 1, 1, 8, 8}, Sizes{32, 80, 1, 2, 7, 5},
                      Sizes{64, 16, 1, 1, 13, 12}, Sizes{16, 48, 1, 2, 1, 1},
                      Sizes{3, 16, 7, 2, 9, 10}, Sizes{16, 32, 3, 2, 5, 4}));

TEST(DirectLayer, TakesSumsThatDoNotDependOnTheThreads) {
  const Array weights = random_array({16, 32, 1, 1}, 2);
  const DirectLayer layer({32, 16, 1, 1}, weights.data());
  SummedCall().sums([&](const ConvCall& call, const KernelContext& context) {
    layer.forward(call, layer.geometry(call.input), context);
  });
}

}  // namespace
}  // namespace sotta::engine
