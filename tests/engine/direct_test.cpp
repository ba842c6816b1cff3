#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "engine/direct_layer.h"
#include "tests/engine/blocked.h"

namespace sotta::engine {
namespace {

struct Fixture {
  Crew crew() {
    workers.resize(2);
    return {&pool, 2, workers.data(), nullptr, nullptr};
  }

  WorkerPool pool;
  std::vector<WorkerScratch> workers;
};

// The gradient of a convolution's input by its definition: every output's
// gradient goes to the inputs it was made from.
at::Tensor naive_backward(const at::Tensor& gradient, const at::Tensor& weights,
                          int64_t stride, const Planes& input) {
  at::Tensor result =
      at::zeros({input.images, input.channels, input.height, input.width});
  const int64_t kernel = weights.size(2), pad = (kernel - 1) / 2;
  const auto g = gradient.accessor<float, 4>();
  const auto w = weights.accessor<float, 4>();
  auto out = result.accessor<float, 4>();
  for (int64_t n = 0; n < input.images; ++n)
    for (int64_t o = 0; o < weights.size(0); ++o)
      for (int64_t y = 0; y < gradient.size(2); ++y)
        for (int64_t x = 0; x < gradient.size(3); ++x)
          for (int64_t c = 0; c < input.channels; ++c)
            for (int64_t t = 0; t < kernel * kernel; ++t) {
              const int64_t row = y * stride + t / kernel - pad;
              const int64_t column = x * stride + t % kernel - pad;
              if (row >= 0 && row < input.height && column >= 0 &&
                  column < input.width)
                out[n][c][row][column] +=
                    g[n][o][y][x] * w[o][c][t / kernel][t % kernel];
            }
  return result;
}

// Inputs, outputs, kernel, stride, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;
class DirectSizes : public ::testing::TestWithParam<Sizes> {
 protected:
  DirectSizes()
      : shape_{std::get<0>(GetParam()), std::get<1>(GetParam()),
               std::get<2>(GetParam()), std::get<3>(GetParam())},
        images_(at::randn({9, shape_.inputs, std::get<4>(GetParam()),
                           std::get<5>(GetParam())})),
        weights_(at::randn(
            {shape_.outputs, shape_.inputs, shape_.kernel, shape_.kernel})),
        one_(at::randn({shape_.outputs, shape_.inputs, 1, 1})),
        layer_(
            {shape_, weights_.data_ptr<float>()},
            DirectLayer::Conv{{shape_.inputs, shape_.outputs, 1, shape_.stride},
                              one_.data_ptr<float>()}),
        output_{9, shape_.outputs, shape_.along(images_.size(2)),
                shape_.along(images_.size(3))} {}

  ConvShape shape_;
  at::Tensor images_, weights_, one_;
  DirectLayer layer_;
  Planes output_;
  Fixture fixture_;
};

TEST_P(DirectSizes, ConvolvesLikeItsDefinition) {
  const auto geometry = layer_.geometry(planes_of(images_));
  const FloatBuffer input = to_blocked(images_), main(output_.size()),
                    shortcut(output_.size());
  DirectLayer::Forward pass;
  pass.call.input = planes_of(images_);
  pass.call.source.values = input.data();
  pass.call.sink.out = main.data();
  pass.shortcut.out = shortcut.data();

  for_every_target([&] {
    layer_.forward(pass, geometry, fixture_.crew());
    expect_close(from_blocked(main, output_),
                 naive_conv(images_, weights_, shape_.stride));
    expect_close(from_blocked(shortcut, output_),
                 naive_conv(images_, one_, shape_.stride));
  });
}

TEST_P(DirectSizes, GoesBackThroughBothConvolutions) {
  const auto geometry = layer_.geometry(planes_of(images_));
  const at::Tensor gradient =
      at::randn({9, output_.channels, output_.height, output_.width});
  const at::Tensor other = at::randn(gradient.sizes());
  const FloatBuffer main = to_blocked(gradient), shortcut = to_blocked(other);
  const Planes input = planes_of(images_);
  const FloatBuffer result(input.size());
  DirectLayer::Backward pass;
  pass.call.input = input;
  pass.call.source.values = main.data();
  pass.call.sink.out = result.data();
  pass.shortcut.values = shortcut.data();

  for_every_target([&] {
    layer_.backward(pass, geometry, fixture_.crew());
    expect_close(from_blocked(result, input),
                 naive_backward(gradient, weights_, shape_.stride, input) +
                     naive_backward(other, one_, shape_.stride, input));
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, DirectSizes,
    ::testing::Values(Sizes{16, 32, 3, 2, 8, 8}, Sizes{32, 80, 3, 2, 7, 5},
                      Sizes{16, 16, 3, 1, 4, 6}, Sizes{16, 48, 3, 2, 1, 1},
                      Sizes{3, 16, 7, 2, 9, 10}, Sizes{64, 64, 1, 2, 5, 4}));

TEST(DirectLayer, ReadsImagesAsLibtorchKeepsThem) {
  const at::Tensor images = at::randn({3, 3, 6, 5});
  const at::Tensor weights = at::randn({16, 3, 3, 3});
  const DirectLayer layer({{3, 16, 3, 1}, weights.data_ptr<float>()}, {});
  Fixture fixture;
  const Planes output{3, 16, 6, 5};
  const FloatBuffer result(output.size());
  DirectLayer::Forward pass;
  pass.images = images.data_ptr<float>();
  pass.call.input = planes_of(images);
  pass.call.sink.out = result.data();

  layer.forward(pass, layer.geometry(planes_of(images)), fixture.crew());

  expect_close(from_blocked(result, output), naive_conv(images, weights, 1));
}

}  // namespace
}  // namespace sotta::engine
