#include "engine/winograd.h"

#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "engine/winograd_layer.h"
#include "tests/engine/blocked.h"

namespace sotta::engine {
namespace {

at::Tensor run_layer(const WinogradLayer& layer, const at::Tensor& images,
                     int64_t outputs, bool backward, int64_t threads = 2) {
  CrewOfWorkers workers(threads);
  const FloatBuffer input = to_blocked(images);
  Planes planes = planes_of(images);
  ConvCall call;
  call.input = planes;
  call.source.values = input.data();
  planes.channels = outputs;
  const FloatBuffer output(planes.size());
  call.output = planes;
  call.sink.out = output.data();
  if (backward)
    layer.backward(call, workers.crew);
  else
    layer.forward(call, workers.crew);
  return from_blocked(output, planes);
}

// Inputs, outputs, images, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;
class WinogradSizes : public ::testing::TestWithParam<Sizes> {};

TEST_P(WinogradSizes, ConvolvesLikeItsDefinition) {
  const auto& [inputs, outputs, count, height, width] = GetParam();
  const at::Tensor images = at::randn({count, inputs, height, width});
  const at::Tensor weights = at::randn({outputs, inputs, 3, 3});
  const WinogradLayer layer({inputs, outputs, 3, 1},
                            {weights.data_ptr<float>(), nullptr}, true);
  const at::Tensor expected = naive_conv(images, weights, 1);

  for_every_target([&, n = outputs] {
    expect_close(run_layer(layer, images, n, false), expected);
  });
}

TEST_P(WinogradSizes, GoesBackLikeTheTransposedConvolution) {
  const auto& [inputs, outputs, count, height, width] = GetParam();
  const at::Tensor gradient = at::randn({count, outputs, height, width});
  const at::Tensor weights = at::randn({outputs, inputs, 3, 3});
  const WinogradLayer layer({inputs, outputs, 3, 1},
                            {weights.data_ptr<float>(), nullptr}, false);
  const at::Tensor turned =
      weights.transpose(0, 1).flip(at::IntArrayRef({2, 3})).contiguous();
  const at::Tensor expected = naive_conv(gradient, turned, 1);

  for_every_target([&, n = inputs] {
    expect_close(run_layer(layer, gradient, n, true), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, WinogradSizes,
    ::testing::Values(Sizes{16, 16, 1, 4, 4}, Sizes{16, 32, 2, 8, 8},
                      Sizes{32, 16, 3, 7, 5}, Sizes{64, 64, 1, 1, 1},
                      Sizes{48, 80, 2, 9, 13}, Sizes{16, 16, 1, 40, 3}));

// Wide layers take the way on which all workers go through the steps together.
TEST(WinogradLayer, WideLayersConvolveToo) {
  const at::Tensor images = at::randn({3, 192, 6, 6});
  const at::Tensor weights = at::randn({192, 192, 3, 3});
  const WinogradLayer layer({192, 192, 3, 1},
                            {weights.data_ptr<float>(), nullptr}, true);

  expect_close(run_layer(layer, images, 192, false),
               at::conv2d(images, weights, {}, 1, 1));
}

TEST(WinogradLayer, TakesSumsThatDoNotDependOnTheThreads) {
  const at::Tensor images = at::rand({5, 32, 12, 12});
  const at::Tensor weights = at::randn({16, 32, 3, 3});
  const WinogradLayer layer({32, 16, 3, 1},
                            {weights.data_ptr<float>(), nullptr}, true);
  const FloatBuffer input = to_blocked(images), output(5 * 16 * 144);
  const FloatBuffer centre = to_buffer(at::rand({16}));
  ConvCall call;
  call.input = planes_of(images);
  call.output = {5, 16, 12, 12};
  call.source.values = input.data();
  call.sink.kind = Sink::Kind::kStatistics;
  call.sink.out = output.data();
  call.sink.centre = centre.data();

  std::vector<std::vector<double>> sums;
  for (const int64_t threads : {1, 2, 4}) {
    SumSlots slots;
    call.sums = &slots;
    layer.forward(call, CrewOfWorkers(threads).crew);
    sums.emplace_back(slots.row(0, 16), slots.row(0, 16) + 32);
  }

  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
  const at::Tensor expected = naive_conv(images, weights, 1);
  EXPECT_NEAR(sums[0][3],
              (expected.select(1, 3) - centre.data()[3]).sum().item<double>(),
              1e-2);
}

// More groups of tiles than images.
TEST(WinogradLayer, TakesSumsOfLargeImages) {
  const at::Tensor images = at::rand({1, 192, 48, 48});
  const at::Tensor weights = at::randn({192, 192, 3, 3});
  const WinogradLayer layer({192, 192, 3, 1},
                            {weights.data_ptr<float>(), nullptr}, true);
  const FloatBuffer input = to_blocked(images), output(input.size());
  const FloatBuffer centre = to_buffer(at::zeros({192}));
  CrewOfWorkers workers(2);
  SumSlots slots;
  ConvCall call;
  call.input = call.output = planes_of(images);
  call.source.values = input.data();
  call.sink.kind = Sink::Kind::kStatistics;
  call.sink.out = output.data();
  call.sink.centre = centre.data();
  call.sums = &slots;

  layer.forward(call, workers.crew);

  const at::Tensor sums =
      at::conv2d(images, weights, {}, 1, 1).sum(at::IntArrayRef({0, 2, 3}));
  for (int64_t c = 0; c < 192; ++c)
    EXPECT_NEAR(slots.row(0, 192)[c], sums[c].item<double>(), 1);
}

TEST(WinogradLayer, PreparesEveryImageOnceBeforeItIsRead) {
  const at::Tensor images = at::randn({6, 16, 8, 8});
  const at::Tensor weights = at::randn({16, 16, 3, 3});
  const WinogradLayer layer({16, 16, 3, 1},
                            {weights.data_ptr<float>(), nullptr}, true);
  CrewOfWorkers workers(2);
  const FloatBuffer later = to_blocked(images);
  const FloatBuffer input = to_blocked(at::zeros_like(images));
  const FloatBuffer output(later.size());
  ConvCall call;
  call.input = call.output = planes_of(images);
  call.source.values = input.data();
  call.sink.out = output.data();
  call.prepare = [&](Range range) {
    const int64_t size = call.input.image();
    for (int64_t i = range.begin * size; i < range.end * size; ++i)
      input.data()[i] += later.data()[i];
  };

  layer.forward(call, workers.crew);

  expect_close(from_blocked(output, call.input),
               naive_conv(images, weights, 1));
}

TEST(Winograd, ReadsThroughANormLayer) {
  const at::Tensor images = at::randn({2, 16, 6, 6});
  const at::Tensor raw = at::randn({2, 16, 6, 6});
  const at::Tensor scale = at::rand({16}), shift = at::randn({16}),
                   slope = at::randn({16}), weights = at::randn({16, 16, 3, 3});
  const auto channel = [](const at::Tensor& vector) {
    return vector.view({1, -1, 1, 1});
  };
  const WinogradLayer layer({16, 16, 3, 1},
                            {weights.data_ptr<float>(), nullptr}, true);
  const FloatBuffer input = to_blocked(images), kept = to_blocked(raw),
                    a = to_buffer(scale), b = to_buffer(shift),
                    k = to_buffer(slope), output(input.size());
  ConvCall call;
  call.input = call.output = planes_of(images);
  call.source = {Source::Kind::kNormRelu,
                 input.data(),
                 kept.data(),
                 a.data(),
                 k.data(),
                 b.data()};
  call.sink.out = output.data();
  const at::Tensor affine = images * channel(scale) + channel(shift);

  for_every_target([&] {
    call.source.kind = Source::Kind::kNormRelu;
    layer.forward(call, CrewOfWorkers(1).crew);
    expect_close(from_blocked(output, call.input),
                 naive_conv(affine.relu(), weights, 1));

    call.source.kind = Source::Kind::kNormBackward;
    layer.forward(call, CrewOfWorkers(1).crew);
    expect_close(from_blocked(output, call.input),
                 naive_conv(affine + raw * channel(slope), weights, 1));
  });
}

// Inputs, outputs, height, width.
using StridedSizes = std::tuple<int64_t, int64_t, int64_t, int64_t>;
class StridedLayer : public ::testing::TestWithParam<StridedSizes> {
 protected:
  StridedLayer()
      : inputs_(std::get<0>(GetParam())),
        outputs_(std::get<1>(GetParam())),
        images_(at::randn(
            {3, inputs_, std::get<2>(GetParam()), std::get<3>(GetParam())})),
        weights_(at::randn({outputs_, inputs_, 3, 3})),
        one_(at::randn({outputs_, inputs_, 1, 1})),
        layer_({inputs_, outputs_, 3, 2},
               {weights_.data_ptr<float>(), one_.data_ptr<float>()}, true) {}

  int64_t inputs_, outputs_;
  at::Tensor images_, weights_, one_;
  WinogradLayer layer_;
  CrewOfWorkers workers_{2};
};

TEST_P(StridedLayer, ConvolvesWithItsShortcut) {
  const at::Tensor expected = naive_conv(images_, weights_, 2);
  const FloatBuffer input = to_blocked(images_),
                    main(planes_of(expected).size()), shortcut(main.size());
  ConvCall call;
  call.input = planes_of(images_);
  call.output = planes_of(expected);
  call.source.values = input.data();
  call.sink.out = main.data();
  call.shortcut_sink.out = shortcut.data();

  for_every_target([&] {
    layer_.forward(call, workers_.crew);
    expect_close(from_blocked(main, call.output), expected);
    expect_close(from_blocked(shortcut, call.output),
                 naive_conv(images_, one_, 2));
  });
}

TEST_P(StridedLayer, GoesBackThroughBothConvolutions) {
  const int64_t height = (images_.size(2) + 1) / 2;
  const int64_t width = (images_.size(3) + 1) / 2;
  const at::Tensor gradient = at::randn({3, outputs_, height, width});
  const at::Tensor other = at::randn(gradient.sizes());
  const FloatBuffer main = to_blocked(gradient), shortcut = to_blocked(other),
                    result(planes_of(images_).size());
  ConvCall call;
  call.input = planes_of(gradient);
  call.output = planes_of(images_);
  call.source.values = main.data();
  call.shortcut_source.values = shortcut.data();
  call.sink.out = result.data();

  for_every_target([&] {
    layer_.backward(call, workers_.crew);
    expect_close(from_blocked(result, call.output),
                 naive_backward(gradient, weights_, 2, call.output) +
                     naive_backward(other, one_, 2, call.output));
  });
}

INSTANTIATE_TEST_SUITE_P(All, StridedLayer,
                         ::testing::Values(StridedSizes{16, 32, 8, 8},
                                           StridedSizes{32, 80, 7, 5},
                                           StridedSizes{48, 16, 17, 18},
                                           StridedSizes{16, 48, 1, 1},
                                           StridedSizes{192, 192, 9, 10}));

}  // namespace
}  // namespace sotta::engine
