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

struct Fixture {
  explicit Fixture(int64_t threads) : workers(static_cast<size_t>(threads)) {
    crew = {&pool, threads, workers.data(), &shared, &packed};
  }

  WorkerPool pool;
  std::vector<WorkerScratch> workers;
  WorkerScratch shared;
  FloatBuffer packed;
  Crew crew;
};

at::Tensor run_layer(const WinogradLayer& layer, const at::Tensor& images,
                     int64_t outputs, bool backward, int64_t threads = 2) {
  Fixture fixture(threads);
  const FloatBuffer input = to_blocked(images);
  Planes planes = planes_of(images);
  ConvCall call;
  call.input = planes;
  call.source.values = input.data();
  planes.channels = outputs;
  const FloatBuffer output(planes.size());
  call.sink.out = output.data();
  if (backward)
    layer.backward(call, fixture.crew);
  else
    layer.forward(call, fixture.crew);
  return from_blocked(output, planes);
}

// Inputs, outputs, images, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;
class WinogradSizes : public ::testing::TestWithParam<Sizes> {};

TEST_P(WinogradSizes, ConvolvesLikeItsDefinition) {
  const auto& [inputs, outputs, count, height, width] = GetParam();
  const at::Tensor images = at::randn({count, inputs, height, width});
  const at::Tensor weights = at::randn({outputs, inputs, 3, 3});
  const WinogradLayer layer({inputs, outputs, 3, 1}, weights.data_ptr<float>(),
                            true);
  const at::Tensor expected = naive_conv(images, weights, 1);

  for_every_target([&, n = outputs] {
    expect_close(run_layer(layer, images, n, false), expected);
  });
}

TEST_P(WinogradSizes, GoesBackLikeTheTransposedConvolution) {
  const auto& [inputs, outputs, count, height, width] = GetParam();
  const at::Tensor gradient = at::randn({count, outputs, height, width});
  const at::Tensor weights = at::randn({outputs, inputs, 3, 3});
  const WinogradLayer layer({inputs, outputs, 3, 1}, weights.data_ptr<float>(),
                            false);
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
  const WinogradLayer layer({192, 192, 3, 1}, weights.data_ptr<float>(), true);

  expect_close(run_layer(layer, images, 192, false),
               at::conv2d(images, weights, {}, 1, 1));
}

TEST(WinogradLayer, TakesSumsThatDoNotDependOnTheThreads) {
  const at::Tensor images = at::rand({5, 32, 12, 12});
  const at::Tensor weights = at::randn({16, 32, 3, 3});
  const WinogradLayer layer({32, 16, 3, 1}, weights.data_ptr<float>(), true);
  const FloatBuffer input = to_blocked(images), output(5 * 16 * 144);
  const FloatBuffer centre = to_buffer(at::rand({16}));
  ConvCall call;
  call.input = planes_of(images);
  call.source.values = input.data();
  call.sink.kind = Sink::Kind::kStatistics;
  call.sink.out = output.data();
  call.sink.centre = centre.data();

  std::vector<std::vector<double>> sums;
  for (const int64_t threads : {1, 2, 4}) {
    SumSlots slots;
    call.sums = &slots;
    layer.forward(call, Fixture(threads).crew);
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
  const WinogradLayer layer({192, 192, 3, 1}, weights.data_ptr<float>(), true);
  const FloatBuffer input = to_blocked(images), output(input.size());
  const FloatBuffer centre = to_buffer(at::zeros({192}));
  Fixture fixture(2);
  SumSlots slots;
  ConvCall call;
  call.input = planes_of(images);
  call.source.values = input.data();
  call.sink.kind = Sink::Kind::kStatistics;
  call.sink.out = output.data();
  call.sink.centre = centre.data();
  call.sums = &slots;

  layer.forward(call, fixture.crew);

  const at::Tensor sums =
      at::conv2d(images, weights, {}, 1, 1).sum(at::IntArrayRef({0, 2, 3}));
  for (int64_t c = 0; c < 192; ++c)
    EXPECT_NEAR(slots.row(0, 192)[c], sums[c].item<double>(), 1);
}

TEST(WinogradLayer, PreparesEveryImageOnceBeforeItIsRead) {
  const at::Tensor images = at::randn({6, 16, 8, 8});
  const at::Tensor weights = at::randn({16, 16, 3, 3});
  const WinogradLayer layer({16, 16, 3, 1}, weights.data_ptr<float>(), true);
  Fixture fixture(2);
  const FloatBuffer later = to_blocked(images);
  const FloatBuffer input = to_blocked(at::zeros_like(images));
  const FloatBuffer output(later.size());
  ConvCall call;
  call.input = planes_of(images);
  call.source.values = input.data();
  call.sink.out = output.data();
  call.prepare = [&](Range range) {
    const int64_t size = call.input.image();
    for (int64_t i = range.begin * size; i < range.end * size; ++i)
      input.data()[i] += later.data()[i];
  };

  layer.forward(call, fixture.crew);

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
  const WinogradLayer layer({16, 16, 3, 1}, weights.data_ptr<float>(), true);
  const FloatBuffer input = to_blocked(images), kept = to_blocked(raw),
                    a = to_buffer(scale), b = to_buffer(shift),
                    k = to_buffer(slope), output(input.size());
  ConvCall call;
  call.input = planes_of(images);
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
    layer.forward(call, Fixture(1).crew);
    expect_close(from_blocked(output, call.input),
                 naive_conv(affine.relu(), weights, 1));

    call.source.kind = Source::Kind::kNormBackward;
    layer.forward(call, Fixture(1).crew);
    expect_close(from_blocked(output, call.input),
                 naive_conv(affine + raw * channel(slope), weights, 1));
  });
}

}  // namespace
}  // namespace sotta::engine
