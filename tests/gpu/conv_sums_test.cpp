#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "sotta/nn/gradient.h"

#include "gpu/cuda_graph.h"
#include "gpu/kernels/conv3x3.h"
#include "nn/conv_norm.h"
#include "tests/gpu/on_own_convolution.h"

namespace sotta {
namespace {

using Shape = testing::ConvShape;

// With a batch's statistics, for which the convolution takes the sums.
class GpuConvSums : public testing::OnOwnConvolution {
 protected:
  static std::optional<Fork> measured(const Layer& layer,
                                      const AfterNorm& after,
                                      NormStats stats = NormStats::batch()) {
    return fused_conv_norm(layer.input, layer.shape(), layer.vectors, stats,
                           after);
  }

  // With what a pass writes, and what gradients flow to.
  Layer layer_of(const Shape& shape, at::ScalarType type) const {
    Layer layer = OnOwnConvolution::layer_of(shape, type);
    layer.input = as_leaf(layer.input);
    layer.residual = as_leaf(layer.residual);
    NormVectors& vectors = layer.vectors;
    vectors.batch_mean = at::full_like(vectors.scale, 7);
    vectors.batch_var = at::full_like(vectors.scale, 7);
    vectors.scale = as_leaf(vectors.scale);
    vectors.shift = as_leaf(vectors.shift);
    return layer;
  }

  // A lane's images, with its vectors.
  static Layer lane_of(const Layer& all, int64_t lane, int64_t images) {
    Layer layer = all;
    const auto of_lane = [&](const at::Tensor& vectors) {
      return vectors.detach()[lane].clone();
    };
    layer.input = as_leaf(all.input.detach().narrow(0, lane * images, images));
    layer.residual =
        as_leaf(all.residual.detach().narrow(0, lane * images, images));
    layer.vectors = {as_leaf(of_lane(all.vectors.scale)),
                     as_leaf(of_lane(all.vectors.shift)),
                     of_lane(all.vectors.running_mean),
                     of_lane(all.vectors.running_var),
                     of_lane(all.vectors.batch_mean),
                     of_lane(all.vectors.batch_var)};
    return layer;
  }

  static std::vector<at::Tensor> gradients(const Layer& layer,
                                           const at::Tensor& output,
                                           const at::Tensor& weight) {
    return gradients_of((output.to(at::kFloat) * weight).sum(),
                        {layer.vectors.scale, layer.vectors.shift, layer.input,
                         layer.residual});
  }

  // Distances of every lane's channels from its running mean, in float64:
  // [lanes, C, values].
  static at::Tensor distances(const at::Tensor& sums, const Layer& layer) {
    const at::Tensor mean = layer.vectors.running_mean.cpu().to(at::kDouble);
    const int64_t lanes = lanes_of(mean), channels = sums.size(1);
    return sums.reshape({lanes, -1, channels, sums.size(2) * sums.size(3)})
               .transpose(1, 2)
               .reshape({lanes, channels, -1}) -
           mean.view({lanes, channels, 1});
  }
};

TEST_F(GpuConvSums, AreThoseOfTheSumsBeforeRounding) {
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(::testing::Message()
                   << type << " " << shape.images << " images " << shape.side
                   << "x" << shape.side << ", " << shape.from << " to "
                   << shape.to << ", " << shape.lanes << " lanes, kernels "
                   << shape.kernel << ", stride " << shape.stride);
      const at::NoGradGuard no_gradients;
      const Layer layer = layer_of(shape, type);
      const at::Tensor& there = layer.packed.there;
      const OutputSums sums = output_sums_for(
          layer.input, there, layer.vectors.running_mean, layer.stride);
      ASSERT_TRUE(sums.parts.defined());
      sums.parts.fill_(std::nan(""));  // what is not written shows
      const at::Tensor output =
          conv3x3_sums(layer.input, there, sums, layer.stride);
      EXPECT_TRUE(output.equal(conv3x3(layer.input, there, layer.stride)));

      const bool fine = type == at::kFloat;
      const at::Tensor wanted = distances(
          fine ? output.cpu().to(at::kDouble) : exact_sums(layer), layer);
      const at::Tensor found = sums.parts.cpu().to(at::kDouble).sum(1);
      ASSERT_EQ(found.sizes(), at::IntArrayRef({shape.lanes, 2, shape.to}));
      const auto error = [&](int64_t which, const at::Tensor& terms) {
        return ((found.select(1, which) - terms.sum(-1)).abs() /
                terms.abs().sum(-1))
            .max()
            .item<double>();
      };
      // Tensor cores cut off where they add.
      EXPECT_LT(error(0, wanted), fine ? 1e-5 : 1e-4);
      EXPECT_LT(error(1, wanted.square()), fine ? 1e-5 : 1e-4);
    }
}

TEST_F(GpuConvSums, HaveTheSameBitsEveryTime) {
  for (const Shape& shape : shapes) {
    const Layer layer = layer_of(shape, at::kFloat);
    const auto run_once = [&] {
      const OutputSums sums =
          output_sums_for(layer.input, layer.packed.there,
                          layer.vectors.running_mean, layer.stride);
      conv3x3_sums(layer.input, layer.packed.there, sums, layer.stride);
      return sums.parts;
    };
    const at::Tensor first = run_once();
    for (int again = 0; again < 5; ++again)
      EXPECT_TRUE(run_once().equal(first));
  }
}

TEST_F(GpuConvSums, MakeANormLayerWhatItIsAlone) {
  for (const Shape& shape : shapes)
    for (const NormStats stats :
         {NormStats::batch(), NormStats::blended(0.3)}) {
      if (shape.lanes > 1 || shape.to == 192) continue;
      SCOPED_TRACE(::testing::Message()
                   << shape.images << " " << shape.side << " " << shape.from
                   << " " << shape.to << ", kernels " << shape.kernel
                   << ", stride " << shape.stride);
      const Layer layer = layer_of(shape, at::kFloat);
      const AfterNorm after{layer.residual, /*relu=*/false};
      const auto fused = measured(layer, after, stats);
      ASSERT_TRUE(fused);
      const at::Tensor mean = layer.vectors.batch_mean.clone(),
                       var = layer.vectors.batch_var.clone();
      const at::Tensor weight = drawn(fused->path.sizes(), 9);
      const auto found = gradients(layer, fused->path, weight);
      const at::Tensor alone =
          norm_relu(layer.convolved(), layer.vectors, stats, after);
      const auto wanted = gradients(layer, alone, weight);

      EXPECT_LT(difference(fused->path.detach(), alone.detach()), 1e-4);
      EXPECT_LT(difference(mean, layer.vectors.batch_mean), 1e-4);
      EXPECT_LT(difference(var, layer.vectors.batch_var), 1e-4);
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_LT(difference(found[i], wanted[i]), 1e-3) << "gradient " << i;
    }
}

// A ReLU's input within rounding of zero may fall on either side: gradients
// have no business here.
TEST_F(GpuConvSums, AreEnoughForFloat64sOutputs) {
  const at::NoGradGuard no_gradients;
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : shapes) {
      if (shape.to == 192) continue;
      Layer layer = layer_of(shape, type);
      const at::Tensor sums = exact_sums(layer);
      const at::Tensor off = distances(sums, layer);
      const at::Tensor var = off.var(/*dim=*/at::IntArrayRef({2}),
                                     /*unbiased=*/false);
      const at::Tensor mean =
          off.mean(at::IntArrayRef({2})) +
          layer.vectors.running_mean.cpu().to(at::kDouble).view_as(var);
      for (const bool add : {false, true}) {
        const AfterNorm after{add ? layer.residual : at::Tensor()};
        const auto found = measured(layer, after);
        ASSERT_TRUE(found);
        Layer known = layer;
        known.vectors.running_mean = mean.view_as(layer.vectors.scale);
        known.vectors.running_var = var.view_as(layer.vectors.scale);
        EXPECT_LT(difference(found->path, exact_norm(known, sums, after)),
                  type == at::kFloat ? 2e-3 : 2e-2)
            << shape.images << " " << shape.side << " " << shape.lanes << " "
            << shape.kernel << " " << shape.stride;
        EXPECT_LT(
            difference(layer.vectors.batch_mean, known.vectors.running_mean),
            2e-3);
      }
    }
}

TEST_F(GpuConvSums, GiveEachLaneWhatItGetsAlone) {
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : shapes) {
      if (shape.lanes == 1 || shape.images / shape.lanes % 16 != 0) continue;
      const Layer layer = layer_of(shape, type);
      const auto together = measured(layer, {layer.residual});
      ASSERT_TRUE(together);
      const int64_t images = shape.images / shape.lanes;
      for (int64_t i = 0; i < shape.lanes; ++i) {
        const Layer lane = lane_of(layer, i, images);
        const auto alone = measured(lane, {lane.residual});
        ASSERT_TRUE(alone);
        const double tolerance = type == at::kFloat ? 1e-4 : 1e-2;
        EXPECT_LT(
            difference(together->path.detach().narrow(0, i * images, images),
                       alone->path.detach()),
            tolerance);
        EXPECT_LT(
            difference(layer.vectors.batch_var[i], lane.vectors.batch_var),
            tolerance);
      }
    }
}

// The running mean is what distances are taken from.
TEST_F(GpuConvSums, SurviveARunningMeanThatIsFarAway) {
  const at::NoGradGuard no_gradients;
  for (const Shape& shape : {Shape{64, 32, 64, 64}, Shape{64, 4, 512, 512}}) {
    Layer layer = layer_of(shape, at::kFloat);
    const at::Tensor output = conv3x3(layer.input, layer.packed.there);
    layer.vectors.running_mean += 100 * output.std();
    ASSERT_TRUE(measured(layer, {}));
    const at::Tensor wanted = output.cpu()
                                  .to(at::kDouble)
                                  .var(at::IntArrayRef({0, 2, 3}),
                                       /*unbiased=*/true);
    EXPECT_LT(((layer.vectors.batch_var.cpu().to(at::kDouble) - wanted).abs() /
               wanted)
                  .max()
                  .item<double>(),
              1e-2);
  }
}

TEST_F(GpuConvSums, KeepWhatIsNotANumberInItsLane) {
  const at::NoGradGuard no_gradients;
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const double value :
         {std::nan(""), std::numeric_limits<double>::infinity()}) {
      Layer layer = layer_of({64, 8, 128, 64, 2}, type);
      layer.input[40][5][2][7].fill_(value);
      const auto found = measured(layer, {});
      ASSERT_TRUE(found);
      EXPECT_TRUE(found->path.narrow(0, 0, 32).isfinite().all().item<bool>());
      EXPECT_TRUE(found->path.narrow(0, 32, 32).isnan().any().item<bool>());
      EXPECT_TRUE(layer.vectors.batch_var[1].isnan().all().item<bool>());
      EXPECT_TRUE(layer.vectors.batch_var[0].isfinite().all().item<bool>());
    }
}

TEST_F(GpuConvSums, WaitForTheOneBefore) {
  const at::NoGradGuard no_gradients;
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : {Shape{64, 32, 64, 64}, Shape{64, 8, 256, 256},
                               Shape{64, 4, 512, 512}}) {
      Layer layer = layer_of(shape, type);
      expect_each_waits_for_the_one_before(
          at::Tensor(layer.input),
          [&](const at::Tensor& input, const AfterNorm& after) {
            layer.input = input;
            return measured(layer, after)->path;
          });
    }
}

// Kernels of both kinds behind each other, which begin early there too.
TEST_F(GpuConvSums, CapturedGiveThePlainResult) {
  const at::NoGradGuard no_gradients;
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const Shape& shape : {Shape{64, 16, 128, 128}, Shape{64, 4, 512, 512},
                               Shape{64, 8, 128, 128, 4}}) {
      const Layer layer = layer_of(shape, type);
      const auto chain = [&] {
        Layer at = layer;
        for (int i = 0; i < 4; ++i) {
          at.input = measured(at, {layer.residual})->path;
          at.input = measured(at, {layer.input}, NormStats::running())->path;
        }
        return at.input;
      };
      const at::Tensor wanted = chain(), found = at::zeros_like(wanted);
      EXPECT_TRUE(wanted.isfinite().all().item<bool>());
      const int64_t before = CudaGraph::captures();
      CudaGraph step([&] { found.copy_(chain()); }, gpu, /*capture=*/true);
      for (int64_t i = 0; i < CudaGraph::kWarmUpRuns; ++i)
        step.run();
      for (int launch = 0; launch < 3; ++launch) {
        found.zero_();
        step.run();
        EXPECT_TRUE(found.equal(wanted));
      }
      EXPECT_EQ(CudaGraph::captures(), before + 1);
    }
}

TEST_F(GpuConvSums, AreLeftAloneWhereTheConvolutionOrTheNormLayerIsNotOurs) {
  EXPECT_TRUE(measured(layer_of({16, 8, 64, 64}, at::kFloat), {}));
  for (const Shape& shape :
       {Shape{1, 8, 64, 64}, Shape{17, 8, 64, 64}, Shape{16, 8, 64, 64, 8},
        Shape{64, 4, 64, 64, 8}, Shape{32, 4, 512, 192},
        Shape{17, 16, 64, 64, 1, 3, 2}, Shape{64, 8, 64, 64, 8, 1, 2}})
    EXPECT_FALSE(measured(layer_of(shape, at::kFloat), {}))
        << shape.images << " " << shape.to << " " << shape.lanes;
}

}  // namespace
}  // namespace sotta
