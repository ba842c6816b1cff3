#include "engine/cpu/max_pool.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/blocked.h"

namespace sotta::engine {
namespace {

// Small whole numbers, so that many are equal.
Array make_values(const ActivationShape& shape) {
  Rng rng(1);
  return make_array(
      shape, [&](const Place&) { return static_cast<float>(rng.below(4)); });
}

// Where the largest value of the window around row 2y, column 2x lies, by the
// definition: the first one, row by row.
Place largest(const Array& values, const Place& window) {
  Place best{window.n, window.c, -1, -1};
  for (int64_t y = 2 * window.y - 1; y <= 2 * window.y + 1; ++y)
    for (int64_t x = 2 * window.x - 1; x <= 2 * window.x + 1; ++x) {
      if (y < 0 || x < 0 || y >= values.sizes().height ||
          x >= values.sizes().width)
        continue;
      const Place here{window.n, window.c, y, x};
      if (best.y < 0 || values[here] > values[best]) best = here;
    }
  return best;
}

class MaxPool : public ::testing::TestWithParam<ActivationShape> {
 protected:
  ActivationShape shape = GetParam(), pooled = max_pool_shape(shape);
  Array values = make_values(shape);
  FloatBuffer input = to_blocked(values), output{pooled.size()};
  Buffer<uint8_t> argmax{pooled.size()};
};

TEST_P(MaxPool, TakesTheLargest) {
  Prologue prologue;
  prologue.values = input.data();
  const Array expected = make_array(pooled, [&](const Place& window) {
    return values[largest(values, window)];
  });
  for_every_target([&] {
    max_pool(prologue, shape, {0, 1}, output.data(), nullptr);
    max_pool(prologue, shape, {1, 2}, output.data(), argmax.data());
    expect_close(from_blocked(output, pooled), expected, 0);
  });
}

TEST_P(MaxPool, GivesTheGradientToTheFirstOfTheLargest) {
  Prologue prologue;
  prologue.values = input.data();
  const Array gradient = random_array(pooled, 2);
  const FloatBuffer gradients = to_blocked(gradient), result(shape.size());
  Array expected(shape);
  for_every_place(pooled, [&](const Place& window) {
    expected[largest(values, window)] += gradient[window];
  });
  Epilogue epilogue;
  epilogue.out = result.data();
  for_every_target([&] {
    max_pool(prologue, shape, {0, 2}, output.data(), argmax.data());
    max_pool_backward(gradients.data(), argmax.data(), shape, {0, 1}, epilogue);
    max_pool_backward(gradients.data(), argmax.data(), shape, {1, 2}, epilogue);
    expect_close(from_blocked(result, shape), expected, 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, MaxPool,
                         ::testing::Values(ActivationShape{2, 32, 8, 6},
                                           ActivationShape{2, 16, 7, 9},
                                           ActivationShape{2, 16, 1, 1},
                                           ActivationShape{2, 16, 2, 1}));

// Sums in float over a whole plane would be off by 1e-4.
TEST(MaxPooling, LargePlanesHaveExactSumsOfGradients) {
  const ActivationShape shape{1, 16, 224, 224}, pooled = max_pool_shape(shape);
  const FloatBuffer input = to_blocked(Array(shape)), output(pooled.size()),
                    gradients(pooled.size()), result(shape.size()), centres(16);
  std::fill_n(gradients.data(), gradients.size(), 1.1F);
  std::fill_n(centres.data(), 16, 0.0F);
  const Buffer<uint8_t> argmax(pooled.size());
  Prologue prologue;
  prologue.values = input.data();
  for_every_target([&] {
    std::vector<double> sums(2 * 16, 0.0);
    Epilogue epilogue;
    epilogue.kind = Epilogue::Kind::kStatistics;
    epilogue.out = result.data();
    epilogue.centre = centres.data();
    epilogue.sums = sums.data();
    epilogue.channels = 16;
    max_pool(prologue, shape, {0, 1}, output.data(), argmax.data());
    max_pool_backward(gradients.data(), argmax.data(), shape, {0, 1}, epilogue);
    EXPECT_NEAR(sums[3] / (112 * 112 * 1.1), 1, 1e-5);
  });
}

TEST(MaxPooling, LetsNanThrough) {
  const ActivationShape shape{1, 16, 6, 6}, pooled = max_pool_shape(shape);
  Array values = random_array(shape, 1);
  values[{0, 3, 2, 2}] = std::numeric_limits<float>::quiet_NaN();
  const FloatBuffer input = to_blocked(values), output(pooled.size());
  Prologue prologue;
  prologue.values = input.data();
  for_every_target([&] {
    max_pool(prologue, shape, {0, 1}, output.data(), nullptr);
    const Array found = from_blocked(output, pooled);
    for_every_place(pooled, [&](const Place& at) {
      EXPECT_EQ(std::isnan(found[at]), at.c == 3 && at.y == 1 && at.x == 1);
    });
  });
}

TEST(MaxPooling, ReadsThroughANormLayer) {
  const ActivationShape shape{1, 16, 4, 4}, pooled = max_pool_shape(shape);
  const Array values = random_array(shape, 1);
  const FloatBuffer input = to_blocked(values), output(pooled.size()),
                    scale = random_vector(16, 2), shift = random_vector(16, 3);
  const Array normed = make_array(shape, [&](const Place& at) {
    return std::max(values[at] * scale.data()[at.c] + shift.data()[at.c], 0.0F);
  });
  Prologue prologue;
  prologue.kind = Prologue::Kind::kNormRelu;
  prologue.values = input.data();
  prologue.scale = scale.data();
  prologue.shift = shift.data();
  for_every_target([&] {
    max_pool(prologue, shape, {0, 1}, output.data(), nullptr);
    expect_close(from_blocked(output, pooled),
                 make_array(pooled, [&](const Place& window) {
                   return normed[largest(normed, window)];
                 }));
  });
}

}  // namespace
}  // namespace sotta::engine
