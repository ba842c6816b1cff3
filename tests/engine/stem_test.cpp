#include <tuple>

#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "engine/stem_layer.h"
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
        images_(at::randn({3, shape_.inputs, std::get<3>(GetParam()),
                           std::get<4>(GetParam())})),
        weights_(at::randn(
            {shape_.outputs, shape_.inputs, shape_.kernel, shape_.kernel})),
        layer_(shape_, weights_.data_ptr<float>()) {}

  ConvShape shape_;
  at::Tensor images_, weights_;
  StemLayer layer_;
  CrewOfWorkers workers_{2};
};

TEST_P(StemSizesTest, ConvolvesLikeItsDefinition) {
  const at::Tensor expected = naive_conv(images_, weights_, 1);
  const FloatBuffer result(planes_of(expected).size());
  ConvCall call;
  call.input = planes_of(images_);
  call.output = planes_of(expected);
  call.sink.out = result.data();

  for_every_target([&] {
    layer_.forward(images_.data_ptr<float>(), call, workers_.crew);
    expect_close(from_blocked(result, call.output), expected);
  });
}

TEST_P(StemSizesTest, GoesBackToTheImages) {
  const at::Tensor gradient =
      at::randn({3, shape_.outputs, images_.size(2), images_.size(3)});
  const FloatBuffer values = to_blocked(gradient);
  const at::Tensor result = at::zeros(images_.sizes());
  ConvCall call;
  call.input = planes_of(gradient);
  call.output = planes_of(images_);
  call.source.values = values.data();

  for_every_target([&] {
    layer_.backward(call, result.data_ptr<float>(), workers_.crew);
    expect_close(result, naive_backward(gradient, weights_, 1, call.output));
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
