#include "sotta/nn/norm_relu.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/rng.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/random_tensor.h"

#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

at::Tensor draw(at::IntArrayRef shape, uint64_t seed) {
  Rng rng(seed);
  return random_normal(rng, shape);
}

// A pixel's channels side by side, as networks of coarser precision have them.
class GpuNorm : public testing::OnGpu {
 protected:
  struct Results {
    at::Tensor output, batch_mean, batch_var;
    std::vector<at::Tensor> gradients;  // input, scale, shift, residual
  };

  // `type` is the input's; vectors are floats as everywhere.
  static Results run(at::IntArrayRef shape, NormStats stats, bool add,
                     bool relu, at::Device device, at::ScalarType type) {
    const int64_t channels = shape[1];
    const auto here = [&](const at::Tensor& values) {
      return values.to(device, at::kFloat, false, /*copy=*/true);
    };
    const auto image = [&](const at::Tensor& values) {
      return as_leaf(values.to(device, type)
                         .clone(device.is_cuda()
                                    ? at::MemoryFormat::ChannelsLast
                                    : at::MemoryFormat::Contiguous));
    };
    const at::Tensor input = image(draw(shape, 1) + 0.5);
    const at::Tensor residual = image(draw(shape, 2));
    const at::Tensor scale = as_leaf(here(draw({channels}, 3)));
    const at::Tensor shift = as_leaf(here(draw({channels}, 4)));
    const NormVectors vectors{scale,
                              shift,
                              here(draw({channels}, 5)),
                              here(draw({channels}, 6).square() + 0.5),
                              here(at::zeros({channels})),
                              here(at::zeros({channels}))};
    const at::Tensor output = norm_relu(input.mul(1), vectors, stats,
                                        {add ? residual : at::Tensor(), relu});
    const at::Tensor weight = here(draw(shape, 7));
    std::vector<at::Tensor> leaves = {input, scale, shift};
    if (add) leaves.push_back(residual);
    Results results{output.detach().to(at::kCPU, at::kFloat),
                    vectors.batch_mean.cpu(),
                    vectors.batch_var.cpu(),
                    {}};
    for (const auto& gradient :
         gradients_of((output.to(at::kFloat) * weight).sum(), leaves))
      results.gradients.push_back(gradient.to(at::kCPU, at::kFloat));
    return results;
  }

  void expect_the_cpus(at::IntArrayRef shape, at::ScalarType type,
                       double tolerance) {
    for (const NormStats stats :
         {NormStats::running(), NormStats::batch(), NormStats::blended(0.3)})
      for (const bool add : {false, true})
        for (const bool relu : {false, true}) {
          const auto wanted =
              run(shape, stats, add, relu, at::kCPU, at::kFloat);
          const auto found = run(shape, stats, add, relu, gpu, type);
          const auto near = [&](const at::Tensor& a, const at::Tensor& b) {
            return testing::close(a, b, tolerance, tolerance);
          };
          EXPECT_TRUE(near(found.output, wanted.output));
          EXPECT_TRUE(near(found.batch_mean, wanted.batch_mean));
          EXPECT_TRUE(near(found.batch_var, wanted.batch_var));
          for (size_t i = 0; i < wanted.gradients.size(); ++i) {
            const at::Tensor &a = found.gradients[i], &b = wanted.gradients[i];
            const double size = b.abs().max().item<double>();
            // A ReLU's input within rounding of zero may fall on either side.
            const auto off = (a - b).abs().le(tolerance * size).logical_not();
            EXPECT_LE(off.to(at::kFloat).mean().item<double>(),
                      type == at::kFloat ? 0 : 0.01)
                << "gradient " << i << " add " << add << " relu " << relu;
          }
        }
  }
};

TEST_F(GpuNorm, IsTheCpus) {
  expect_the_cpus({6, 16, 9, 33}, at::kFloat, 1e-4);
  expect_the_cpus({2, 64, 32, 32}, at::kFloat, 1e-4);
  expect_the_cpus({64, 64, 32, 32}, at::kFloat, 1e-4);
  expect_the_cpus({3, 512, 4, 4}, at::kFloat, 1e-4);
  expect_the_cpus({2, 1024, 2, 1}, at::kFloat, 1e-4);
}

TEST_F(GpuNorm, TakesChannelsItsKernelsDoNot) {
  expect_the_cpus({6, 5, 9, 33}, at::kFloat, 1e-4);
  expect_the_cpus({6, 24, 7, 3}, at::kFloat, 1e-4);
}

TEST_F(GpuNorm, IsNearWithBfloat16) {
  expect_the_cpus({6, 16, 9, 33}, at::kBFloat16, 0.05);
  expect_the_cpus({2, 128, 16, 16}, at::kBFloat16, 0.05);
}

TEST_F(GpuNorm, GivesTheSameBitsAgain) {
  const auto once = [&] {
    return run({8, 64, 16, 16}, NormStats::batch(), true, true, gpu,
               at::kFloat);
  };
  const auto first = once(), second = once();
  EXPECT_TRUE(first.output.equal(second.output));
  for (size_t i = 0; i < first.gradients.size(); ++i)
    EXPECT_TRUE(first.gradients[i].equal(second.gradients[i]));
}

}  // namespace
}  // namespace sotta
