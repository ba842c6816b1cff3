#include "nn/conv_norm.h"

#include <cmath>
#include <limits>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "sotta/nn/gradient.h"

#include "tests/gpu/on_own_convolution.h"

namespace sotta {
namespace {

using Shape = testing::ConvShape;

// With running averages, without gradients: one kernel.
class GpuConvNorm : public testing::OnOwnConvolution {
 protected:
  static std::optional<Fork> run(const Layer& layer, const AfterNorm& after) {
    const at::NoGradGuard no_gradients;
    return fused_conv_norm(layer.input, layer.shape(), layer.vectors,
                           NormStats::running(), after);
  }

  void expect_right(const Shape& shape, at::ScalarType type,
                    double tolerance) const {
    SCOPED_TRACE(::testing::Message()
                 << shape.images << " images " << shape.side << "x"
                 << shape.side << ", " << shape.from << " to " << shape.to
                 << " channels, " << shape.lanes << " lanes, kernels "
                 << shape.kernel << ", stride " << shape.stride);
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
    const at::Tensor two = norm_relu(layer.convolved(), layer.vectors,
                                     NormStats::running(), after);
    EXPECT_LT(difference(fused->path, two), 1e-6);
  }
}

TEST_F(GpuConvNorm, KeepsWhatIsNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape :
         {Shape{16, 8, 64, 64}, Shape{64, 16, 64, 256},
          Shape{16, 16, 64, 64, 1, 3, 2}, Shape{64, 32, 64, 128, 1, 3, 2},
          Shape{16, 8, 64, 64, 1, 1, 2}, Shape{64, 32, 64, 128, 1, 1, 2}})
      for (const double value : {std::nan(""), kInfinity, -kInfinity}) {
        Layer layer = layer_of(shape, type);
        layer.input[3][5][2][7].fill_(value);
        layer.input[5][1][4][6].fill_(value);  // 1x1 kernels look at this one
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

TEST_F(GpuConvNorm, WaitsForTheOneBefore) {
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : {Shape{64, 32, 64, 64}, Shape{64, 16, 64, 64},
                               Shape{16, 16, 64, 64}, Shape{64, 4, 512, 512}}) {
      Layer layer = layer_of(shape, type);
      layer.vectors.scale *= 0.3;  // so that numbers hardly grow
      expect_each_waits_for_the_one_before(
          at::Tensor(layer.input),
          [&](const at::Tensor& input, const AfterNorm& after) {
            layer.input = input;
            return run(layer, after)->path;
          });
    }
}

TEST_F(GpuConvNorm, LeavesOtherShapesAlone) {
  EXPECT_TRUE(run(layer_of({16, 8, 64, 64}, at::kFloat), {}));
  for (const Shape& shape :
       {Shape{1, 8, 64, 64}, Shape{17, 8, 64, 64}, Shape{16, 12, 64, 64},
        Shape{16, 8, 64, 64, 3}, Shape{16, 8, 64, 64, 8},
        Shape{64, 4, 64, 64, 8}, Shape{17, 16, 64, 64, 1, 3, 2},
        Shape{16, 24, 64, 64, 1, 3, 2}, Shape{16, 16, 64, 64, 8, 3, 2},
        Shape{64, 8, 64, 64, 8, 1, 2}, Shape{16, 8, 64, 64, 1, 1, 1}})
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
