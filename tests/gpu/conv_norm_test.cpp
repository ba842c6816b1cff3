#include "nn/conv_norm.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "sotta/core/rng.h"
#include "sotta/nn/gradient.h"

#include "gpu/device_queue.h"
#include "gpu/kernels/conv3x3.h"
#include "nn/random_tensor.h"
#include "tests/gpu/on_gpu.h"
#include "tests/gpu/own_convolution.h"

namespace sotta {
namespace {

struct Shape {
  int64_t images, side, from, to;
  int64_t lanes = 1;
};

// Results of a GPU beside float64 on the CPU.
class GpuConvNorm : public testing::OnGpu {
 protected:
  void SetUp() override {
    testing::OnGpu::SetUp();
    if (!IsSkipped() && !testing::has_own_convolution(gpu))
      GTEST_SKIP() << "not a GPU of compute capability 9.0, or a build "
                      "without kernels for it";
  }

  struct Layer {
    at::Tensor input, residual, kernels;
    PackedKernels packed;
    NormVectors vectors;  // [C], or [lanes, C]
  };

  at::Tensor drawn(at::IntArrayRef shape, uint64_t seed) const {
    Rng rng(seed);
    return random_normal(rng, shape).to(gpu);
  }
  at::Tensor images(at::IntArrayRef shape, uint64_t seed,
                    at::ScalarType type) const {
    return drawn(shape, seed)
        .to(type)
        .contiguous(at::MemoryFormat::ChannelsLast);
  }

  // Variances are about those of the sums, so that nothing is drowned.
  Layer layer_of(const Shape& shape, at::ScalarType type) const {
    Layer layer;
    const auto [count, side, from, to, lanes] = shape;
    layer.input = images({count, from, side, side}, 1, type);
    layer.residual = images({count, to, side, side}, 2, type);
    layer.kernels = images({to, from, 3, 3}, 3, type);
    layer.packed = packed_kernels(layer.kernels);
    const auto vector = [&, n = lanes, c = to](uint64_t seed) {
      return n == 1 ? drawn({c}, seed) : drawn({n, c}, seed);
    };
    const auto products = static_cast<double>(9 * from);
    layer.vectors = {vector(4),
                     vector(5),
                     vector(6) * std::sqrt(products),
                     (vector(7).square() + 0.5) * products,
                     {},
                     {}};
    return layer;
  }

  static std::optional<Fork> run(const Layer& layer, const AfterNorm& after) {
    const at::NoGradGuard no_gradients;
    return fused_conv_norm(layer.input, {layer.packed}, layer.vectors,
                           NormStats::running(), after);
  }

  // A vector's numbers for every image of a lane: [N or 1, C, 1, 1].
  static at::Tensor per_image(const at::Tensor& vector, int64_t images) {
    const at::Tensor exact = vector.detach().cpu().to(at::kDouble);
    if (exact.dim() == 1) return exact.view({1, -1, 1, 1});
    return exact.repeat_interleave(images / exact.size(0), 0)
        .view({images, -1, 1, 1});
  }

  static at::Tensor exact_norm(const Layer& layer, const at::Tensor& sums,
                               const AfterNorm& after) {
    const auto vector = [&](const at::Tensor& values) {
      return per_image(values, sums.size(0));
    };
    const NormVectors& vectors = layer.vectors;
    at::Tensor output =
        (sums - vector(vectors.running_mean)) /
            (vector(vectors.running_var) + kNormEpsilon).sqrt() *
            vector(vectors.scale) +
        vector(vectors.shift);
    if (after.residual.defined())
      output = output + after.residual.cpu().to(at::kDouble);
    return after.relu ? output.relu() : output;
  }

  static at::Tensor exact_sums(const Layer& layer) {
    return at::conv2d(layer.input.cpu().to(at::kDouble),
                      layer.kernels.cpu().to(at::kDouble), {}, 1, 1);
  }

  static double difference(const at::Tensor& found,
                           const at::Tensor& expected) {
    return ((found.cpu().to(at::kDouble) - expected.cpu().to(at::kDouble))
                .abs()
                .max() /
            expected.abs().max().cpu().to(at::kDouble))
        .item<double>();
  }

  void expect_right(const Shape& shape, at::ScalarType type,
                    double tolerance) const {
    SCOPED_TRACE(::testing::Message()
                 << shape.images << " images " << shape.side << "x"
                 << shape.side << ", " << shape.from << " to " << shape.to
                 << " channels, " << shape.lanes << " lanes");
    const Layer layer = layer_of(shape, type);
    const at::Tensor sums = exact_sums(layer);
    for (const bool add : {false, true})
      for (const bool relu : {false, true}) {
        const AfterNorm after{add ? layer.residual : at::Tensor(), relu};
        const auto found = run(layer, after);
        ASSERT_TRUE(found) << "add " << add << " relu " << relu;
        EXPECT_LT(difference(found->path, exact_norm(layer, sums, after)),
                  tolerance)
            << "add " << add << " relu " << relu;
      }
  }

  // All ways to cut tiles: part of an image, whole ones, several; several for
  // a block, one, shared by two; narrow ones. Lanes of one tile, of many.
  const std::vector<Shape> shapes = {
      {16, 32, 64, 64},     {16, 16, 64, 64},     {48, 16, 64, 128},
      {64, 16, 64, 256},    {64, 8, 128, 64},     {16, 8, 256, 128},
      {64, 8, 256, 256},    {256, 8, 128, 192},   {16, 4, 64, 64},
      {32, 4, 512, 192},    {512, 4, 128, 512},   {16, 16, 64, 64, 16},
      {32, 32, 64, 64, 2},  {48, 16, 64, 128, 3}, {64, 8, 128, 64, 16},
      {192, 8, 64, 128, 3}, {64, 4, 512, 512, 4}, {256, 4, 64, 64, 16},
      {96, 16, 64, 64, 2}};
};

TEST_F(GpuConvNorm, IsThatOfFloat64AsFarAsTf32Goes) {
  for (const auto& shape : shapes)
    expect_right(shape, at::kFloat, 1e-3);
}

TEST_F(GpuConvNorm, IsThatOfFloat64AsFarAsBfloat16Goes) {
  for (const auto& shape : shapes)
    expect_right(shape, at::kBFloat16, 1e-2);
}

// Nothing is rounded between the two: one formula, one kernel or two.
TEST_F(GpuConvNorm, IsWhatTwoKernelsGiveInTf32) {
  const at::NoGradGuard no_gradients;
  for (const auto& shape : shapes) {
    if (shape.lanes > 1 || shape.to == 192) continue;
    const Layer layer = layer_of(shape, at::kFloat);
    const AfterNorm after{layer.residual};
    const auto fused = run(layer, after);
    ASSERT_TRUE(fused);
    const at::Tensor two =
        norm_relu(convolution(layer.input, layer.kernels, 1, 1, layer.packed),
                  layer.vectors, NormStats::running(), after);
    EXPECT_LT(difference(fused->path, two), 1e-6);
  }
}

TEST_F(GpuConvNorm, KeepsWhatIsNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : {Shape{16, 8, 64, 64}, Shape{64, 16, 64, 256}})
      for (const double value : {std::nan(""), kInfinity, -kInfinity}) {
        Layer layer = layer_of(shape, type);
        layer.input[3][5][2][7].fill_(value);
        layer.residual[4][6][0][0].fill_(value);
        layer.vectors.shift[9].fill_(value);
        const AfterNorm after{layer.residual};
        const at::Tensor wanted = exact_norm(layer, exact_sums(layer), after);
        const auto found = run(layer, after);
        ASSERT_TRUE(found);
        const at::Tensor output = found->path.cpu().to(at::kDouble);
        EXPECT_TRUE(output.isnan().equal(wanted.isnan())) << value;
        EXPECT_TRUE(output.isinf().equal(wanted.isinf())) << value;
        EXPECT_FALSE(wanted.isfinite().all().item<bool>()) << value;
      }
}

TEST_F(GpuConvNorm, HasTheSameBitsEveryTime) {
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const auto& shape : shapes) {
      const Layer layer = layer_of(shape, type);
      const AfterNorm after{layer.residual};
      const at::Tensor first = run(layer, after)->path;
      for (int again = 0; again < 5; ++again)
        EXPECT_TRUE(run(layer, after)->path.equal(first));
    }
}

// Each begins while the one before it ends, which its input and the residual
// come from; memory is used again.
TEST_F(GpuConvNorm, WaitsForTheOneBefore) {
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : {Shape{64, 32, 64, 64}, Shape{64, 16, 64, 64},
                               Shape{16, 16, 64, 64}, Shape{64, 4, 512, 512}}) {
      Layer layer = layer_of(shape, type);
      layer.vectors.scale *= 0.3;  // so that numbers hardly grow
      const at::Tensor first = layer.input, zeros = at::zeros_like(first);
      const auto through = [&](const at::Tensor& input,
                               const AfterNorm& after) {
        layer.input = input;
        return run(layer, after)->path;
      };
      const auto chain = [&](bool shared) {
        const SharedDevice others(shared);  // with it, all start as usual
        // Something to do until the whole chain is in the queue.
        for (int i = 0; i < 50; ++i)
          through(zeros, {});
        at::Tensor images = first;
        for (int i = 0; i < 25; ++i)
          images = through(through(images, {}), {images});
        return images;
      };
      const at::Tensor expected = chain(true);
      EXPECT_TRUE(expected.isfinite().all().item<bool>());
      EXPECT_GT(expected.max().item<float>(), 0);
      for (int again = 0; again < 3; ++again)
        EXPECT_TRUE(chain(false).equal(expected));
    }
}

TEST_F(GpuConvNorm, LeavesOtherShapesAlone) {
  EXPECT_TRUE(run(layer_of({16, 8, 64, 64}, at::kFloat), {}));
  for (const Shape& shape : {Shape{1, 8, 64, 64}, Shape{17, 8, 64, 64},
                             Shape{16, 12, 64, 64}, Shape{16, 8, 64, 64, 3},
                             Shape{16, 8, 64, 64, 8}, Shape{64, 4, 64, 64, 8}})
    EXPECT_FALSE(run(layer_of(shape, at::kFloat), {}))
        << shape.images << " " << shape.side << " " << shape.lanes;
}

TEST_F(GpuConvNorm, LeavesVectorsAloneThatItCannotRead) {
  Layer layer = layer_of({16, 8, 64, 64}, at::kFloat);
  layer.vectors.shift = drawn({65}, 8).narrow(0, 1, 64);  // not on 16 bytes
  EXPECT_FALSE(run(layer, {}));
  layer.vectors.shift = drawn({128}, 8).slice(0, 0, 128, 2);
  EXPECT_FALSE(run(layer, {}));
  layer.vectors.shift = drawn({128}, 8);
  EXPECT_FALSE(run(layer, {}));
}

TEST_F(GpuConvNorm, TakesAResidualInAnyLayout) {
  const Layer layer = layer_of({16, 8, 64, 64}, at::kFloat);
  const at::Tensor wanted = run(layer, {layer.residual})->path;
  EXPECT_TRUE(run(layer, {layer.residual.contiguous()})->path.equal(wanted));
}

TEST_F(GpuConvNorm, LeavesPassesWithGradientsAlone) {
  Layer layer = layer_of({16, 8, 64, 64}, at::kFloat);
  layer.vectors.scale = as_leaf(layer.vectors.scale);
  EXPECT_TRUE(run(layer, {}));  // in a scope without gradients
  EXPECT_FALSE(fused_conv_norm(layer.input, {layer.packed}, layer.vectors,
                               NormStats::running(), {}));
}

TEST_F(GpuConvNorm, LeavesBatchesAloneThatAreFilledUp) {
  const Layer layer = layer_of({16, 8, 64, 64}, at::kFloat);
  const LeastBatch filled_up(32);
  EXPECT_FALSE(run(layer, {}));
}

}  // namespace
}  // namespace sotta
