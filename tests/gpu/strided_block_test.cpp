#include <cstdint>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "sotta/nn/gradient.h"

#include "gpu/cuda_graph.h"
#include "gpu/device_queue.h"
#include "nn/conv_norm.h"
#include "tests/gpu/on_own_convolution.h"

namespace sotta {
namespace {

// The first convolutions of ResNet18-CIFAR's last three stages, one behind the
// other: 3x3 with stride 2, 3x3, and a 1x1 shortcut with stride 2.
class GpuStridedBlocks : public testing::OnOwnConvolution {
 protected:
  struct Block {
    Layer first, shortcut, second;
  };

  std::vector<Block> blocks_of(at::ScalarType type, int64_t lanes = 1) const {
    std::vector<Block> blocks;
    for (const int64_t side : {32, 16, 8}) {
      const int64_t from = 64 * 32 / side, to = 2 * from;
      blocks.push_back(
          {with_room(layer_of({64, side, from, to, lanes, 3, 2}, type)),
           with_room(layer_of({64, side, from, to, lanes, 1, 2}, type)),
           with_room(layer_of({64, side / 2, to, to, lanes}, type))});
    }
    return blocks;
  }

  // For what a pass measures.
  static Layer with_room(Layer layer) {
    layer.vectors.batch_mean = at::zeros_like(layer.vectors.scale);
    layer.vectors.batch_var = at::zeros_like(layer.vectors.scale);
    return layer;
  }

  static at::Tensor run(Layer layer, const at::Tensor& input, NormStats stats,
                        const AfterNorm& after) {
    layer.input = input;
    if (layer.packed.there.defined())
      return fused_conv_norm(input, layer.shape(), layer.vectors, stats, after)
          .value()
          .path;
    return norm_relu(layer.convolved(), layer.vectors, stats, after);
  }

  static at::Tensor through(const std::vector<Block>& blocks,
                            const at::Tensor& images, NormStats stats,
                            bool relu = true) {
    at::Tensor x = images;
    for (const Block& block : blocks) {
      const at::Tensor path = run(block.first, x, stats, {{}, relu});
      const at::Tensor residual =
          run(block.shortcut, x, stats, {{}, /*relu=*/false});
      x = run(block.second, path, stats, {residual, relu});
    }
    return x;
  }

  static double distance(const at::Tensor& found, const at::Tensor& wanted) {
    return ((found - wanted).norm() / wanted.norm()).item<double>();
  }
};

TEST_F(GpuStridedBlocks, WaitForTheOneBefore) {
  const at::NoGradGuard no_gradients;
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const int64_t lanes : {1, 4})
      for (const NormStats stats : {NormStats::running(), NormStats::batch()}) {
        const auto blocks = blocks_of(type, lanes);
        const at::Tensor images = blocks[0].first.input,
                         zeros = at::zeros_like(images);
        const auto chain = [&](bool shared) {
          const SharedDevice others(shared);  // with it, all start as usual
          // Something to do until the whole chain is in the queue.
          for (int i = 0; i < 10; ++i)
            through(blocks, zeros, stats);
          std::vector<at::Tensor> found;
          for (int i = 0; i < 10; ++i)
            found.push_back(through(blocks, i % 2 ? zeros : images, stats));
          return found;
        };
        const auto wanted = chain(true);
        EXPECT_TRUE(wanted[0].isfinite().all().item<bool>());
        EXPECT_GT(wanted[0].max().item<float>(), 0);
        for (int again = 0; again < 3; ++again) {
          const auto found = chain(false);
          for (size_t i = 0; i < wanted.size(); ++i)
            EXPECT_TRUE(found[i].equal(wanted[i])) << i;
        }
      }
}

TEST_F(GpuStridedBlocks, CapturedGiveThePlainResult) {
  const at::NoGradGuard no_gradients;
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const NormStats stats : {NormStats::running(), NormStats::batch()}) {
      const auto blocks = blocks_of(type);
      const at::Tensor images = blocks[0].first.input;
      const at::Tensor wanted = through(blocks, images, stats),
                       found = at::zeros_like(wanted);
      CudaGraph step([&] { found.copy_(through(blocks, images, stats)); }, gpu,
                     /*capture=*/true);
      for (int64_t i = 0; i < CudaGraph::kWarmUpRuns; ++i)
        step.run();
      for (int launch = 0; launch < 3; ++launch) {
        found.zero_();
        step.run();
        EXPECT_TRUE(found.equal(wanted));
      }
    }
}

// Without ReLUs: what lies within rounding of zero might fall on either side.
TEST_F(GpuStridedBlocks, HaveTheGradientsOfLibTorchsConvolutions) {
  const auto blocks = blocks_of(at::kFloat);
  auto plain = blocks;
  for (Block& block : plain)
    for (Layer* layer : {&block.first, &block.shortcut, &block.second})
      layer->packed = {};
  const at::Tensor images = as_leaf(blocks[0].first.input);
  const at::Tensor output =
      through(blocks, images, NormStats::batch(), /*relu=*/false);
  const at::Tensor weight = drawn(output.sizes(), 9);
  const at::Tensor found = gradient_of((output * weight).sum(), images);
  const at::Tensor libtorchs =
      through(plain, images, NormStats::batch(), /*relu=*/false);
  const at::Tensor wanted = gradient_of((libtorchs * weight).sum(), images);

  EXPECT_LT(distance(output.detach(), libtorchs.detach()), 1e-2);
  EXPECT_LT(distance(found, wanted), 1e-2);
}

}  // namespace
}  // namespace sotta
