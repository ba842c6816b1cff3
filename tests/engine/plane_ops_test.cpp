#include "engine/cpu/plane_ops.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/blocked.h"

namespace sotta::engine {
namespace {

float relu(float value) {
  return std::max(value, 0.0F);
}

// Values and vectors for every epilogue, as arrays and in NCHW16c.
struct PlaneOps : ::testing::Test {
  ActivationShape shape{3, 32, 5, 4};
  Array value = random_array(shape, 1), pre_norm = random_array(shape, 2),
        addend = random_array(shape, 3);
  FloatBuffer values = to_blocked(value), pre_norms = to_blocked(pre_norm),
              addends = to_blocked(addend), scales = random_vector(32, 4),
              shifts = random_vector(32, 5), centres = random_vector(32, 6),
              out{shape.size()};
  Buffer<uint8_t> mask{shape.size() / kChannelBlock * kMaskBytes +
                       kMaskPadding};
  std::vector<double> sums = std::vector<double>(3 * 32, 0.0);

  Epilogue epilogue(Epilogue::Kind kind) {
    std::fill(sums.begin(), sums.end(), 0.0);
    Epilogue epilogue;
    epilogue.kind = kind;
    epilogue.out = out.data();
    epilogue.scale = scales.data();
    epilogue.shift = shifts.data();
    epilogue.pre_norm = pre_norms.data();
    epilogue.centre = centres.data();
    epilogue.relu_mask = mask.data();
    epilogue.sums = sums.data();
    epilogue.channels = 32;
    return epilogue;
  }

  // The epilogue applied to all images in two parts, of which one is stored
  // past the caches.
  Array apply(Epilogue epilogue) {
    apply_epilogue(epilogue, shape, {0, 1}, values.data());
    epilogue.streaming = true;
    apply_epilogue(epilogue, shape, {1, 3}, values.data() + shape.image_size());
    return from_blocked(out, shape);
  }

  // The norm layer's output.
  float normed(const Array& of, const Place& at) const {
    return of[at] * scales.data()[at.c] + shifts.data()[at.c];
  }

  float distance(const Array& of, const FloatBuffer& from,
                 const Place& at) const {
    return of[at] - from.data()[at.c];
  }

  template <class Summand>
  void expect_sums(size_t row, const Summand& summand) {
    std::vector<double> expected(32, 0.0);
    for_every_place(shape, [&](const Place& at) {
      expected[static_cast<size_t>(at.c)] += static_cast<double>(summand(at));
    });
    for (size_t c = 0; c < 32; ++c)
      EXPECT_NEAR(sums[row * 32 + c], expected[c], 1e-4);
  }
};

TEST_F(PlaneOps, StoringAddsTheOtherBranch) {
  for_every_target([&] {
    Epilogue stored = epilogue(Epilogue::Kind::kStore);
    expect_close(apply(stored), value, 0);
    stored.addend = addends.data();
    expect_close(apply(stored), make_array(shape, [&](const Place& at) {
                   return value[at] + addend[at];
                 }));
  });
}

TEST_F(PlaneOps, StatisticsAreSumsAboutTheCentre) {
  for_every_target([&] {
    expect_close(apply(epilogue(Epilogue::Kind::kStatistics)), value);
    expect_sums(0,
                [&](const Place& at) { return distance(value, centres, at); });
    expect_sums(1, [&](const Place& at) {
      return std::pow(distance(value, centres, at), 2.0F);
    });
  });
}

TEST_F(PlaneOps, NormReluAddsTheOtherBranch) {
  const auto expect = [&](const Epilogue& epilogue, auto branch) {
    expect_close(apply(epilogue), make_array(shape, [&](const Place& at) {
                   return relu(normed(value, at) + branch(at));
                 }));
  };
  for_every_target([&] {
    expect(epilogue(Epilogue::Kind::kNormRelu),
           [](const Place&) { return 0.0F; });

    Epilogue added = epilogue(Epilogue::Kind::kNormAddRelu);
    added.addend = addends.data();
    expect(added, [&](const Place& at) { return addend[at]; });
    added.addend_scale = centres.data();
    expect(added,
           [&](const Place& at) { return addend[at] * centres.data()[at.c]; });
  });
}

// A broken network must be seen to be broken: guards look for it.
TEST_F(PlaneOps, ReluLetsNanThrough) {
  const Place broken{1, 17, 2, 3};
  value[broken] = std::numeric_limits<float>::quiet_NaN();
  values = to_blocked(value);
  const auto expect_one = [&](const Array& found) {
    int64_t count = 0;
    for_every_place(shape,
                    [&](const Place& at) { count += std::isnan(found[at]); });
    EXPECT_EQ(count, 1);
    EXPECT_TRUE(std::isnan(found[broken]));
  };
  for_every_target([&] {
    expect_one(apply(epilogue(Epilogue::Kind::kNormRelu)));

    Epilogue added = epilogue(Epilogue::Kind::kNormAddRelu);
    added.addend = addends.data();
    expect_one(apply(added));

    const ResidualAdd residual{values.data(), scales.data(), shifts.data(),
                               nullptr,       nullptr,       out.data(),
                               nullptr};
    add_residual(residual, shape, {0, 3});
    expect_one(from_blocked(out, shape));

    Prologue prologue;
    prologue.kind = Prologue::Kind::kNormRelu;
    prologue.values = values.data();
    prologue.scale = scales.data();
    prologue.shift = shifts.data();
    pad_planes(prologue, shape, {0, 3}, 0, out.data());
    expect_one(from_blocked(out, shape));
  });
}

TEST_F(PlaneOps, ReluGradientPassesWhereTheNormIsPositive) {
  const auto active = [&](const Place& at) { return normed(pre_norm, at) > 0; };
  const Array expected = make_array(
      shape, [&](const Place& at) { return active(at) ? value[at] : 0.0F; });
  for_every_target([&] {
    Epilogue gradient = epilogue(Epilogue::Kind::kReluGradient);
    expect_close(apply(gradient), expected);
    expect_sums(0, [&](const Place& at) { return expected[at]; });
    expect_sums(1, [&](const Place& at) {
      return expected[at] * distance(pre_norm, centres, at);
    });

    gradient = epilogue(Epilogue::Kind::kReluGradient);
    gradient.addend = addends.data();
    gradient.out = nullptr;
    apply(gradient);
    expect_sums(0, [&](const Place& at) {
      return active(at) ? value[at] + addend[at] : 0.0F;
    });
  });
}

TEST_F(PlaneOps, BlockGradientPassesWhereTheOutputWasPositive) {
  const Array output = make_array(shape, [&](const Place& at) {
    return relu(normed(pre_norm, at) + addend[at]);
  });
  const Array expected = make_array(shape, [&](const Place& at) {
    return output[at] > 0 ? value[at] + addend[at] : 0.0F;
  });
  for_every_target([&] {
    ResidualAdd residual{pre_norms.data(), scales.data(), shifts.data(),
                         addends.data(),   nullptr,       out.data(),
                         mask.data()};
    add_residual(residual, shape, {0, 3});
    expect_close(from_blocked(out, shape), output);

    Epilogue gradient = epilogue(Epilogue::Kind::kBlockGradient);
    gradient.addend = addends.data();
    gradient.pre_norm2 = values.data();
    gradient.centre2 = shifts.data();
    expect_close(apply(gradient), expected);
    expect_sums(0, [&](const Place& at) { return expected[at]; });
    expect_sums(1, [&](const Place& at) {
      return expected[at] * distance(pre_norm, centres, at);
    });
    expect_sums(2, [&](const Place& at) {
      return expected[at] * distance(value, shifts, at);
    });
  });
}

TEST_F(PlaneOps, PaddingPutsZerosAround) {
  const ActivationShape padded{3, 32, 9, 8};
  for_every_target([&] {
    const FloatBuffer to(padded.size());
    Prologue prologue;
    prologue.values = values.data();
    pad_planes(prologue, shape, {0, 3}, 2, to.data());
    expect_close(from_blocked(to, padded),
                 make_array(padded, [&](const Place& at) {
                   return value.padded({at.n, at.c, at.y - 2, at.x - 2});
                 }));
  });
}

TEST_F(PlaneOps, AveragePoolingTakesMeansAndItsGradientSpreadsThem) {
  Array means({3, 32, 1, 1});
  for_every_place(shape, [&](const Place& at) {
    means[{at.n, at.c, 0, 0}] += value[at] / 20;
  });
  const FloatBuffer features(3 * 32);
  for_every_target([&] {
    average_pool(values.data(), shape, {0, 3}, features.data());
    for (int64_t i = 0; i < 96; ++i)
      EXPECT_NEAR(features.data()[i], means.data()[i], 1e-5);

    average_pool_backward(features.data(), shape, {0, 3}, out.data());
    expect_close(from_blocked(out, shape),
                 make_array(shape, [&](const Place& at) {
                   return means[{at.n, at.c, 0, 0}] / 20;
                 }));
  });
}

// Sums in float over a whole plane would be off by 1e-4.
TEST(LargePlanes, HaveExactSums) {
  const ActivationShape shape{1, 16, 112, 112};
  const FloatBuffer values(shape.size()), centres(16);
  std::fill_n(values.data(), values.size(), 1.1F);
  std::fill_n(centres.data(), 16, 0.0F);
  for_every_target([&] {
    std::vector<double> sums(2 * 16, 0.0);
    Epilogue epilogue;
    epilogue.kind = Epilogue::Kind::kStatistics;
    epilogue.out = values.data();
    epilogue.centre = centres.data();
    epilogue.sums = sums.data();
    epilogue.channels = 16;
    apply_epilogue(epilogue, shape, {0, 1}, values.data());
    EXPECT_NEAR(sums[3] / (112 * 112 * 1.1), 1, 1e-5);
    EXPECT_NEAR(sums[16 + 3] / (112 * 112 * 1.21), 1, 1e-5);
  });
}

TEST(ImageOps, ImagesGoInAndComeBack) {
  const ActivationShape shape{1, 3, 4, 6}, around{1, 3, 6, 8};
  const Array image = random_array(shape, 1);
  const FloatBuffer padded(around.size());
  pad_image(image.data(), shape, 1, padded.data());
  expect_close(from_blocked(padded, around),
               make_array(around, [&](const Place& at) {
                 return image.padded({at.n, at.c, at.y - 1, at.x - 1});
               }));

  Array back(shape);
  unblock_image(to_blocked(image).data(), shape, back.values().data());
  expect_close(back, image, 0);
}

}  // namespace
}  // namespace sotta::engine
