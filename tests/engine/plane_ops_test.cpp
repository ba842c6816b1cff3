#include "engine/plane_ops.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <gtest/gtest.h>

#include "tests/engine/blocked.h"

namespace sotta::engine {
namespace {

at::Tensor channel(const at::Tensor& vector) {
  return vector.view({1, -1, 1, 1});
}

// Values and vectors for every sink, as tensors and as the kernels keep them.
struct PlaneOps : ::testing::Test {
  at::Tensor value = at::randn({3, 32, 5, 4}), raw = at::randn({3, 32, 5, 4}),
             other = at::randn({3, 32, 5, 4}), scale = at::randn({32}),
             shift = at::randn({32}), centre = at::randn({32});
  Planes planes = planes_of(value);
  FloatBuffer values = to_blocked(value), raws = to_blocked(raw),
              others = to_blocked(other), scales = to_buffer(scale),
              shifts = to_buffer(shift), centres = to_buffer(centre),
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
  at::Tensor apply(Sink sink) {
    apply_sink(sink, planes, {0, 1}, values.data());
    sink.far = true;
    apply_sink(sink, planes, {1, 3}, values.data() + planes.image());
    return from_blocked(out, planes);
  }

  void expect_sums(int row, const at::Tensor& summands) {
    const at::Tensor expected = summands.sum(at::IntArrayRef({0, 2, 3}));
    for (int64_t c = 0; c < 32; ++c)
      EXPECT_NEAR(sums[static_cast<size_t>(row * 32 + c)],
                  expected[c].item<double>(), 1e-4);
  }
};

TEST_F(PlaneOps, StatisticsAreSumsAboutTheCentre) {
  for_every_target([&] {
    expect_close(apply(sink(Sink::Kind::kStatistics)), value);
    expect_sums(0, value - channel(centre));
    expect_sums(1, (value - channel(centre)).square());
  });
}

TEST_F(PlaneOps, NormReluAddsTheOtherBranch) {
  for_every_target([&] {
    const at::Tensor normed = value * channel(scale) + channel(shift);
    expect_close(apply(sink(Sink::Kind::kNormRelu)), normed.relu());

    Sink added = sink(Sink::Kind::kNormAddRelu);
    added.other = others.data();
    expect_close(apply(added), (normed + other).relu());
    added.other_scale = centres.data();
    expect_close(apply(added), (normed + other * channel(centre)).relu());
  });
}

TEST_F(PlaneOps, ReluGradientPassesWhereTheNormIsPositive) {
  const at::Tensor active = raw * channel(scale) + channel(shift) > 0;
  for_every_target([&] {
    Sink gradient = sink(Sink::Kind::kReluGradient);
    const at::Tensor expected = value * active;
    expect_close(apply(gradient), expected);
    expect_sums(0, expected);
    expect_sums(1, expected * (raw - channel(centre)));

    gradient = sink(Sink::Kind::kReluGradient);
    gradient.other = others.data();
    gradient.out = nullptr;
    apply(gradient);
    expect_sums(0, (value + other) * active);
  });
}

TEST_F(PlaneOps, BlockGradientPassesWhereTheOutputWasPositive) {
  for_every_target([&] {
    BlockEnd end{raws.data(), scales.data(), shifts.data(), others.data(),
                 nullptr,     out.data(),    bits.data()};
    finish_block(end, planes, {0, 3});
    const at::Tensor output =
        (raw * channel(scale) + channel(shift) + other).relu();
    expect_close(from_blocked(out, planes), output);

    Sink gradient = sink(Sink::Kind::kBlockGradient);
    gradient.other = others.data();
    gradient.raw2 = values.data();
    gradient.centre2 = shifts.data();
    const at::Tensor expected = (value + other) * (output > 0);
    expect_close(apply(gradient), expected);
    expect_sums(0, expected);
    expect_sums(1, expected * (raw - channel(centre)));
    expect_sums(2, expected * (value - channel(shift)));
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
                 at::constant_pad_nd(value, {2, 2, 2, 2}));
  });
}

TEST_F(PlaneOps, PoolingTakesMeansAndSpreadsThemBack) {
  const FloatBuffer features(3 * 32);
  for_every_target([&] {
    average_pool(values.data(), planes, {0, 3}, features.data());
    const at::Tensor means = value.mean(at::IntArrayRef({2, 3}));
    for (int64_t i = 0; i < 96; ++i)
      EXPECT_NEAR(features.data()[i], means.view(-1)[i].item<float>(), 1e-5);

    spread_gradient(features.data(), planes, {0, 3}, out.data());
    expect_close(from_blocked(out, planes),
                 (means / 20).view({3, 32, 1, 1}).expand({3, 32, 5, 4}));
  });
}

TEST(ImageOps, ImagesGoInAndComeBack) {
  const at::Tensor image = at::rand({1, 3, 4, 6});
  const Planes planes = planes_of(image);
  const FloatBuffer padded(6 * 8 * kBlock);
  pad_image(image.data_ptr<float>(), planes, 1, padded.data());
  expect_close(from_blocked(padded, {1, 3, 6, 8}),
               at::constant_pad_nd(image, {1, 1, 1, 1}));

  at::Tensor back = at::zeros({1, 3, 4, 6});
  unblock_image(to_blocked(image).data(), planes, back.data_ptr<float>());
  EXPECT_TRUE(back.equal(image));
}

}  // namespace
}  // namespace sotta::engine
