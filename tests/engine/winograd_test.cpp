#include "engine/cpu/winograd/winograd.h"

#include <tuple>

#include <gtest/gtest.h>

#include "engine/cpu/winograd/winograd_layer.h"
#include "tests/engine/blocked.h"
#include "tests/engine/run_layer.h"
#include "tests/engine/summed_call.h"

namespace sotta::engine {
namespace {

// Inputs, outputs, images, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;
class WinogradSizes : public ::testing::TestWithParam<Sizes> {};

TEST_P(WinogradSizes, ConvolvesLikeItsDefinition) {
  const auto& [inputs, outputs, count, height, width] = GetParam();
  const Array images = random_array({count, inputs, height, width}, 1);
  const Array weights = random_array({outputs, inputs, 3, 3}, 2);
  const WinogradLayer layer({inputs, outputs, 3, 1}, {weights.data(), nullptr},
                            true);
  const Array expected = naive_conv(images, weights, 1);

  for_every_target([&, n = outputs] {
    expect_close(run_layer(layer, images, n, false), expected);
  });
}

TEST_P(WinogradSizes, HasTheGradientOfTheTransposedConvolution) {
  const auto& [inputs, outputs, count, height, width] = GetParam();
  const Array gradient = random_array({count, outputs, height, width}, 1);
  const Array weights = random_array({outputs, inputs, 3, 3}, 2);
  const WinogradLayer layer({inputs, outputs, 3, 1}, {weights.data(), nullptr},
                            false);
  Array expected({count, inputs, height, width});
  add_naive_backward(gradient, weights, 1, expected);

  for_every_target([&, n = inputs] {
    expect_close(run_layer(layer, gradient, n, true), expected, kWideTolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, WinogradSizes,
    ::testing::Values(Sizes{16, 16, 1, 4, 4}, Sizes{16, 32, 2, 8, 8},
                      Sizes{32, 16, 3, 7, 5}, Sizes{64, 64, 1, 1, 1},
                      Sizes{48, 80, 2, 9, 13}, Sizes{16, 16, 1, 40, 3}));

// Wide layers run output-parallel: all workers read the same tiles, and each
// takes panels of outputs, narrower ones with more workers.
TEST(WinogradLayer, WideLayersConvolveTheSameWithAnyWorkers) {
  const Array images = random_array({3, 176, 6, 6}, 1);
  const Array weights = random_array({192, 176, 3, 3}, 2);
  const Array expected = naive_conv(images, weights, 1);

  for (const bool keep : {true, false}) {
    const WinogradLayer layer({176, 192, 3, 1}, {weights.data(), nullptr},
                              keep);
    for_every_target([&] {
      Array one = run_layer(layer, images, 192, false, 1);
      expect_close(one, expected);
      for (const int64_t threads : {2, 5, 20})
        EXPECT_EQ(run_layer(layer, images, 192, false, threads).values(),
                  one.values());
    });
  }
}

TEST(WinogradLayer, WideLayersHaveGradientsToo) {
  const Array gradient = random_array({3, 192, 6, 6}, 1);
  const Array weights = random_array({192, 176, 3, 3}, 2);
  const WinogradLayer layer({176, 192, 3, 1}, {weights.data(), nullptr}, false);
  Array expected({3, 176, 6, 6});
  add_naive_backward(gradient, weights, 1, expected);

  for_every_target([&] {
    expect_close(run_layer(layer, gradient, 176, true), expected,
                 kWideTolerance);
  });
}

TEST(WinogradLayer, TakesSumsThatDoNotDependOnTheThreads) {
  const Array weights = random_array({16, 32, 3, 3}, 2);
  const WinogradLayer layer({32, 16, 3, 1}, {weights.data(), nullptr}, true);
  SummedCall summed;
  const auto sums =
      summed.sums([&](const ConvCall& call, const KernelContext& context) {
        layer.forward(call, context);
      });

  const Array expected = naive_conv(summed.images, weights, 1);
  double sum = 0;
  for_every_place({5, 1, 12, 12}, [&](const Place& at) {
    sum += static_cast<double>(expected[{at.n, 3, at.y, at.x}] -
                               summed.centre.data()[3]);
  });
  EXPECT_NEAR(sums[3], sum, 1e-2);
}

// More groups of tiles than images.
TEST(WinogradLayer, TakesSumsOfLargeImages) {
  const Array images = random_array({1, 192, 48, 48}, 1);
  const Array weights = random_array({192, 192, 3, 3}, 2);
  const WinogradLayer layer({192, 192, 3, 1}, {weights.data(), nullptr}, true);
  const FloatBuffer input = to_blocked(images), output(input.size());
  const FloatBuffer centre = to_blocked(Array({1, 192, 1, 1}));
  TestWorkers workers(2);
  PartialSums slots;
  ConvCall call;
  call.input = call.output = images.sizes();
  call.prologue.values = input.data();
  call.epilogue.kind = Epilogue::Kind::kStatistics;
  call.epilogue.out = output.data();
  call.epilogue.centre = centre.data();
  call.sums = &slots;

  layer.forward(call, workers.context);

  std::vector<double> sums(192, 0.0);
  const Array found = from_blocked(output, call.output);
  for_every_place(call.output, [&](const Place& at) {
    sums[static_cast<size_t>(at.c)] += static_cast<double>(found[at]);
  });
  for (size_t c = 0; c < 192; ++c)
    EXPECT_NEAR(slots.row(0, 192)[c], sums[c], 1e-1);
}

TEST(WinogradLayer, PreparesEveryImageOnceBeforeItIsRead) {
  const Array images = random_array({6, 16, 8, 8}, 1);
  const Array weights = random_array({16, 16, 3, 3}, 2);
  const WinogradLayer layer({16, 16, 3, 1}, {weights.data(), nullptr}, true);
  TestWorkers workers(2);
  const FloatBuffer later = to_blocked(images);
  const FloatBuffer input = to_blocked(Array(images.sizes()));
  const FloatBuffer output(later.size());
  ConvCall call;
  call.input = call.output = images.sizes();
  call.prologue.values = input.data();
  call.epilogue.out = output.data();
  call.prepare = [&](Range range) {
    const int64_t size = call.input.image_size();
    for (int64_t i = range.begin * size; i < range.end * size; ++i)
      input.data()[i] += later.data()[i];
  };

  layer.forward(call, workers.context);

  expect_close(from_blocked(output, call.input),
               naive_conv(images, weights, 1));
}

TEST(Winograd, ReadsThroughANormLayer) {
  const Array images = random_array({2, 16, 6, 6}, 1);
  const Array pre_norm = random_array({2, 16, 6, 6}, 2);
  const Array weights = random_array({16, 16, 3, 3}, 3);
  const WinogradLayer layer({16, 16, 3, 1}, {weights.data(), nullptr}, true);
  const FloatBuffer input = to_blocked(images), kept = to_blocked(pre_norm),
                    scale = random_vector(16, 4), shift = random_vector(16, 5),
                    slope = random_vector(16, 6), output(input.size());
  ConvCall call;
  call.input = call.output = images.sizes();
  call.prologue = {Prologue::Kind::kNormRelu,
                   input.data(),
                   kept.data(),
                   scale.data(),
                   slope.data(),
                   shift.data()};
  call.epilogue.out = output.data();
  const auto affine = [&](const Place& at) {
    return images[at] * scale.data()[at.c] + shift.data()[at.c];
  };
  const auto expect = [&](auto value) {
    layer.forward(call, TestWorkers(1).context);
    expect_close(from_blocked(output, call.input),
                 naive_conv(make_array(call.input, value), weights, 1));
  };

  for_every_target([&] {
    call.prologue.kind = Prologue::Kind::kNormRelu;
    expect([&](const Place& at) { return std::max(affine(at), 0.0F); });

    call.prologue.kind = Prologue::Kind::kNormBackward;
    expect([&](const Place& at) {
      return affine(at) + pre_norm[at] * slope.data()[at.c];
    });
  });
}

// Inputs, outputs, height, width.
using StridedSizes = std::tuple<int64_t, int64_t, int64_t, int64_t>;
class StridedLayer : public ::testing::TestWithParam<StridedSizes> {
 protected:
  StridedLayer()
      : inputs_(std::get<0>(GetParam())),
        outputs_(std::get<1>(GetParam())),
        images_(random_array(
            {3, inputs_, std::get<2>(GetParam()), std::get<3>(GetParam())}, 1)),
        weights_(random_array({outputs_, inputs_, 3, 3}, 2)),
        one_(random_array({outputs_, inputs_, 1, 1}, 3)),
        layer_({inputs_, outputs_, 3, 2}, {weights_.data(), one_.data()},
               true) {}

  int64_t inputs_, outputs_;
  Array images_, weights_, one_;
  WinogradLayer layer_;
  TestWorkers workers_{2};
};

TEST_P(StridedLayer, ConvolvesWithItsShortcut) {
  const Array expected = naive_conv(images_, weights_, 2);
  const FloatBuffer input = to_blocked(images_), main(expected.sizes().size()),
                    shortcut(main.size());
  ConvCall call;
  call.input = images_.sizes();
  call.output = expected.sizes();
  call.prologue.values = input.data();
  call.epilogue.out = main.data();
  call.shortcut_epilogue.out = shortcut.data();

  for_every_target([&] {
    layer_.forward(call, workers_.context);
    expect_close(from_blocked(main, call.output), expected);
    expect_close(from_blocked(shortcut, call.output),
                 naive_conv(images_, one_, 2));
  });
}

TEST_P(StridedLayer, NeedsNoShortcut) {
  const WinogradLayer alone({inputs_, outputs_, 3, 2},
                            {weights_.data(), nullptr}, true);
  const Array expected = naive_conv(images_, weights_, 2);
  const FloatBuffer input = to_blocked(images_),
                    output(expected.sizes().size());
  ConvCall call;
  call.input = images_.sizes();
  call.output = expected.sizes();
  call.prologue.values = input.data();
  call.epilogue.out = output.data();

  alone.forward(call, workers_.context);

  expect_close(from_blocked(output, call.output), expected);
}

TEST_P(StridedLayer, HasTheGradientsOfBothConvolutions) {
  const ActivationShape input = images_.sizes();
  const ActivationShape output{3, outputs_, (input.height + 1) / 2,
                               (input.width + 1) / 2};
  const Array gradient = random_array(output, 4);
  const Array other = random_array(output, 5);
  const FloatBuffer main = to_blocked(gradient), shortcut = to_blocked(other),
                    result(input.size());
  Array expected(input);
  add_naive_backward(gradient, weights_, 2, expected);
  add_naive_backward(other, one_, 2, expected);
  ConvCall call;
  call.input = output;
  call.output = images_.sizes();
  call.prologue.values = main.data();
  call.shortcut_prologue.values = shortcut.data();
  call.epilogue.out = result.data();

  for_every_target([&] {
    layer_.backward(call, workers_.context);
    expect_close(from_blocked(result, input), expected);
  });
}

TEST_P(StridedLayer, GivesTheSameWithoutKeptWeights) {
  const WinogradLayer sparing({inputs_, outputs_, 3, 2},
                              {weights_.data(), one_.data()}, false);
  const ActivationShape input = images_.sizes();
  const ActivationShape output{3, outputs_, (input.height + 1) / 2,
                               (input.width + 1) / 2};
  const FloatBuffer main = to_blocked(random_array(output, 4)),
                    shortcut = to_blocked(random_array(output, 5)),
                    result(input.size());
  ConvCall call;
  call.input = output;
  call.output = input;
  call.prologue.values = main.data();
  call.shortcut_prologue.values = shortcut.data();
  call.epilogue.out = result.data();

  layer_.backward(call, workers_.context);
  Array expected = from_blocked(result, input);
  sparing.backward(call, workers_.context);

  EXPECT_EQ(from_blocked(result, input).values(), expected.values());
}

INSTANTIATE_TEST_SUITE_P(All, StridedLayer,
                         ::testing::Values(StridedSizes{16, 32, 8, 8},
                                           StridedSizes{32, 80, 7, 5},
                                           StridedSizes{48, 16, 17, 18},
                                           StridedSizes{16, 48, 1, 1},
                                           StridedSizes{192, 192, 9, 10}));

}  // namespace
}  // namespace sotta::engine
