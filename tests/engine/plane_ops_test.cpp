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

// Values and vectors for every sink, as arrays and as the kernels keep them.
struct PlaneOps : ::testing::Test {
  Planes planes{3, 32, 5, 4};
  Array value = random_array(planes, 1), raw = random_array(planes, 2),
        other = random_array(planes, 3);
  FloatBuffer values = to_blocked(value), raws = to_blocked(raw),
              others = to_blocked(other), scales = random_vector(32, 4),
              shifts = random_vector(32, 5), centres = random_vector(32, 6),
              out{planes.size()};
  Buffer<uint8_t> bits{planes.size() / kBlock * kBitBytes + kBitPadding};
  std::vector<double> sums = std::vector<double>(3 * 32, 0.0);

  Sink sink(Sink::Kind kind) {
    std::fill(sums.begin(), sums.end(), 0.0);
    Sink sink;
    sink.kind = kind;
    sink.out = out.data();
    sink.scale = scales.data();
    sink.shift = shifts.data();
    sink.raw = raws.data();
    sink.centre = centres.data();
    sink.bits = bits.data();
    sink.sums = sums.data();
    sink.channels = 32;
    return sink;
  }

  // What a sink makes of all images, handed over in two parts, of which one is
  // written past the caches.
  Array apply(Sink sink) {
    apply_sink(sink, planes, {0, 1}, values.data());
    sink.far = true;
    apply_sink(sink, planes, {1, 3}, values.data() + planes.image());
    return from_blocked(out, planes);
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
    for_every_place(planes, [&](const Place& at) {
      expected[static_cast<size_t>(at.c)] += static_cast<double>(summand(at));
    });
    for (size_t c = 0; c < 32; ++c)
      EXPECT_NEAR(sums[row * 32 + c], expected[c], 1e-4);
  }
};

TEST_F(PlaneOps, StoringAddsTheOtherBranch) {
  for_every_target([&] {
    Sink stored = sink(Sink::Kind::kStore);
    expect_close(apply(stored), value, 0);
    stored.other = others.data();
    expect_close(apply(stored), make_array(planes, [&](const Place& at) {
                   return value[at] + other[at];
                 }));
  });
}

TEST_F(PlaneOps, StatisticsAreSumsAboutTheCentre) {
  for_every_target([&] {
    expect_close(apply(sink(Sink::Kind::kStatistics)), value);
    expect_sums(0,
                [&](const Place& at) { return distance(value, centres, at); });
    expect_sums(1, [&](const Place& at) {
      return std::pow(distance(value, centres, at), 2.0F);
    });
  });
}

TEST_F(PlaneOps, NormReluAddsTheOtherBranch) {
  const auto expect = [&](const Sink& sink, auto branch) {
    expect_close(apply(sink), make_array(planes, [&](const Place& at) {
                   return relu(normed(value, at) + branch(at));
                 }));
  };
  for_every_target([&] {
    expect(sink(Sink::Kind::kNormRelu), [](const Place&) { return 0.0F; });

    Sink added = sink(Sink::Kind::kNormAddRelu);
    added.other = others.data();
    expect(added, [&](const Place& at) { return other[at]; });
    added.other_scale = centres.data();
    expect(added,
           [&](const Place& at) { return other[at] * centres.data()[at.c]; });
  });
}

// A broken network must be seen to be broken: guards look for it.
TEST_F(PlaneOps, ReluLetsNanThrough) {
  const Place broken{1, 17, 2, 3};
  value[broken] = std::numeric_limits<float>::quiet_NaN();
  values = to_blocked(value);
  const auto expect_one = [&](const Array& found) {
    int64_t count = 0;
    for_every_place(planes,
                    [&](const Place& at) { count += std::isnan(found[at]); });
    EXPECT_EQ(count, 1);
    EXPECT_TRUE(std::isnan(found[broken]));
  };
  for_every_target([&] {
    expect_one(apply(sink(Sink::Kind::kNormRelu)));

    Sink added = sink(Sink::Kind::kNormAddRelu);
    added.other = others.data();
    expect_one(apply(added));

    const BlockEnd end{values.data(), scales.data(), shifts.data(), nullptr,
                       nullptr,       out.data(),    nullptr};
    finish_block(end, planes, {0, 3});
    expect_one(from_blocked(out, planes));

    Source source;
    source.kind = Source::Kind::kNormRelu;
    source.values = values.data();
    source.scale = scales.data();
    source.shift = shifts.data();
    pad_planes(source, planes, {0, 3}, 0, out.data());
    expect_one(from_blocked(out, planes));
  });
}

TEST_F(PlaneOps, ReluGradientPassesWhereTheNormIsPositive) {
  const auto active = [&](const Place& at) { return normed(raw, at) > 0; };
  const Array expected = make_array(
      planes, [&](const Place& at) { return active(at) ? value[at] : 0.0F; });
  for_every_target([&] {
    Sink gradient = sink(Sink::Kind::kReluGradient);
    expect_close(apply(gradient), expected);
    expect_sums(0, [&](const Place& at) { return expected[at]; });
    expect_sums(1, [&](const Place& at) {
      return expected[at] * distance(raw, centres, at);
    });

    gradient = sink(Sink::Kind::kReluGradient);
    gradient.other = others.data();
    gradient.out = nullptr;
    apply(gradient);
    expect_sums(0, [&](const Place& at) {
      return active(at) ? value[at] + other[at] : 0.0F;
    });
  });
}

TEST_F(PlaneOps, BlockGradientPassesWhereTheOutputWasPositive) {
  const Array output = make_array(planes, [&](const Place& at) {
    return relu(normed(raw, at) + other[at]);
  });
  const Array expected = make_array(planes, [&](const Place& at) {
    return output[at] > 0 ? value[at] + other[at] : 0.0F;
  });
  for_every_target([&] {
    BlockEnd end{raws.data(), scales.data(), shifts.data(), others.data(),
                 nullptr,     out.data(),    bits.data()};
    finish_block(end, planes, {0, 3});
    expect_close(from_blocked(out, planes), output);

    Sink gradient = sink(Sink::Kind::kBlockGradient);
    gradient.other = others.data();
    gradient.raw2 = values.data();
    gradient.centre2 = shifts.data();
    expect_close(apply(gradient), expected);
    expect_sums(0, [&](const Place& at) { return expected[at]; });
    expect_sums(1, [&](const Place& at) {
      return expected[at] * distance(raw, centres, at);
    });
    expect_sums(2, [&](const Place& at) {
      return expected[at] * distance(value, shifts, at);
    });
  });
}

TEST_F(PlaneOps, PaddingPutsZerosAround) {
  const Planes padded{3, 32, 9, 8};
  for_every_target([&] {
    const FloatBuffer to(padded.size());
    Source source;
    source.values = values.data();
    pad_planes(source, planes, {0, 3}, 2, to.data());
    expect_close(from_blocked(to, padded),
                 make_array(padded, [&](const Place& at) {
                   return value.padded({at.n, at.c, at.y - 2, at.x - 2});
                 }));
  });
}

TEST_F(PlaneOps, PoolingTakesMeansAndSpreadsThemBack) {
  Array means({3, 32, 1, 1});
  for_every_place(planes, [&](const Place& at) {
    means[{at.n, at.c, 0, 0}] += value[at] / 20;
  });
  const FloatBuffer features(3 * 32);
  for_every_target([&] {
    average_pool(values.data(), planes, {0, 3}, features.data());
    for (int64_t i = 0; i < 96; ++i)
      EXPECT_NEAR(features.data()[i], means.data()[i], 1e-5);

    spread_gradient(features.data(), planes, {0, 3}, out.data());
    expect_close(from_blocked(out, planes),
                 make_array(planes, [&](const Place& at) {
                   return means[{at.n, at.c, 0, 0}] / 20;
                 }));
  });
}

// Sums in float over a whole plane would be off by 1e-4.
TEST(LargePlanes, HaveExactSums) {
  const Planes planes{1, 16, 112, 112};
  const FloatBuffer values(planes.size()), centres(16);
  std::fill_n(values.data(), values.size(), 1.1F);
  std::fill_n(centres.data(), 16, 0.0F);
  for_every_target([&] {
    std::vector<double> sums(2 * 16, 0.0);
    Sink sink;
    sink.kind = Sink::Kind::kStatistics;
    sink.out = values.data();
    sink.centre = centres.data();
    sink.sums = sums.data();
    sink.channels = 16;
    apply_sink(sink, planes, {0, 1}, values.data());
    EXPECT_NEAR(sums[3] / (112 * 112 * 1.1), 1, 1e-5);
    EXPECT_NEAR(sums[16 + 3] / (112 * 112 * 1.21), 1, 1e-5);
  });
}

TEST(ImageOps, ImagesGoInAndComeBack) {
  const Planes planes{1, 3, 4, 6}, around{1, 3, 6, 8};
  const Array image = random_array(planes, 1);
  const FloatBuffer padded(around.size());
  pad_image(image.data(), planes, 1, padded.data());
  expect_close(from_blocked(padded, around),
               make_array(around, [&](const Place& at) {
                 return image.padded({at.n, at.c, at.y - 1, at.x - 1});
               }));

  Array back(planes);
  unblock_image(to_blocked(image).data(), planes, back.values().data());
  expect_close(back, image, 0);
}

}  // namespace
}  // namespace sotta::engine
