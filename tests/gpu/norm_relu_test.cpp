#include "nn/norm_relu.h"

#include <string>
#include <thread>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "sotta/core/log.h"
#include "sotta/core/rng.h"
#include "sotta/nn/gradient.h"

#include "gpu/cuda_graph.h"
#include "gpu/device_queue.h"
#include "nn/random_tensor.h"
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
  struct Case {
    NormStats stats = NormStats::batch();
    bool add = true;
    bool relu = true;
  };

  // Images are of one type; vectors are floats as everywhere.
  struct Layer {
    Layer(at::IntArrayRef shape, at::Device device,
          at::ScalarType type = at::kFloat) {
      const auto here = [&](const at::Tensor& values) {
        return values.to(device, at::kFloat, false, /*copy=*/true);
      };
      const auto image = [&](const at::Tensor& values) {
        return as_leaf(values.to(device, type)
                           .clone(device.is_cuda()
                                      ? at::MemoryFormat::ChannelsLast
                                      : at::MemoryFormat::Contiguous));
      };
      const auto vector = [&](uint64_t seed) {
        return here(draw({shape[1]}, seed));
      };
      input = image(draw(shape, 1) + 0.5);
      residual = image(draw(shape, 2));
      weight = here(draw(shape, 7));
      vectors = {as_leaf(vector(3)),       as_leaf(vector(4)), vector(5),
                 vector(6).square() + 0.5, vector(8),          vector(9)};
    }

    // The input's values stay: a copy is used up.
    at::Tensor output(const Case& how) const {
      return norm_relu(input.mul(1), vectors, how.stats,
                       {how.add ? residual : at::Tensor(), how.relu});
    }

    at::Tensor input, residual;
    at::Tensor weight;  // of the outputs in the loss
    NormVectors vectors;
  };

  // Output, batch mean and variance; gradients of scale, shift, and those of
  // input and residual that there are.
  using Results = std::vector<at::Tensor>;
  static constexpr size_t kFirstGradient = 3;

  static Results run(const Layer& layer, const Case& how) {
    const at::Tensor output = layer.output(how);
    std::vector<at::Tensor> leaves = {layer.vectors.scale, layer.vectors.shift};
    if (layer.input.requires_grad()) leaves.push_back(layer.input);
    if (how.add) leaves.push_back(layer.residual);
    Results results = {output.detach(), layer.vectors.batch_mean.clone(),
                       layer.vectors.batch_var.clone()};
    for (const auto& gradient :
         gradients_of((output.to(at::kFloat) * layer.weight).sum(), leaves))
      results.push_back(gradient);
    return results;
  }

  static void expect_same_bits(const Results& found, const Results& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(found[i].equal(wanted[i])) << "result " << i;
  }

  void expect_the_cpus(at::IntArrayRef shape, const Case& how,
                       at::ScalarType type, double tolerance) const {
    SCOPED_TRACE(::testing::Message()
                 << shape << " add " << how.add << " relu " << how.relu
                 << " source " << static_cast<int>(how.stats.source));
    Layer on_cpu(shape, at::kCPU), on_gpu(shape, gpu, type);
    // A ReLU's input within rounding of zero may fall on either side.
    const at::Tensor before =
        on_cpu.output({how.stats, how.add, false}).detach();
    on_cpu.weight.mul_(before.abs().gt(tolerance));
    on_gpu.weight.copy_(on_cpu.weight);
    const Results wanted = run(on_cpu, how), found = run(on_gpu, how);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const at::Tensor a = found[i].to(at::kCPU, at::kFloat), &b = wanted[i];
      if (i < kFirstGradient) {
        EXPECT_TRUE(testing::close(a, b, tolerance, tolerance))
            << "result " << i;
        continue;
      }
      EXPECT_LE((a - b).abs().max().item<double>(),
                tolerance * b.abs().max().item<double>())
          << "result " << i;
    }
  }

  void expect_the_cpus(at::IntArrayRef shape, at::ScalarType type = at::kFloat,
                       double tolerance = 1e-4) const {
    for (const NormStats stats :
         {NormStats::running(), NormStats::batch(), NormStats::blended(0.3)})
      for (const bool add : {false, true})
        for (const bool relu : {false, true})
          expect_the_cpus(shape, {stats, add, relu}, type, tolerance);
  }
};

// What fits into the registers of a large GPU, one kernel each way: slices of
// 64 channels, rows in equal parts, in unequal ones, and fewer than parts.
TEST_F(GpuNorm, IsTheCpusInOneKernel) {
  expect_the_cpus({64, 64, 8, 8});
  expect_the_cpus({64, 512, 4, 4});
  expect_the_cpus({2, 64, 32, 32});
  expect_the_cpus({5, 128, 6, 6});
  expect_the_cpus({3, 512, 4, 4});
  expect_the_cpus({1, 64, 4, 4});
  expect_the_cpus({2, 1024, 3, 1});
}

TEST_F(GpuNorm, IsTheCpusInThreeKernels) {
  expect_the_cpus({6, 16, 9, 33});
  expect_the_cpus({3, 32, 5, 7});
  const SharedDevice with_others(true);
  expect_the_cpus({64, 64, 8, 8});
  expect_the_cpus({3, 512, 4, 4});
}

// The largest tensor for one kernel, one row less, and the next one.
TEST_F(GpuNorm, IsTheCpusWhereRegistersEnd) {
  const std::vector<std::vector<int64_t>> shapes = {
      {64, 64, 32, 32}, {1, 64, 257, 255}, {65, 64, 32, 32}};
  for (const auto& shape : shapes)
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const double tolerance = type == at::kFloat ? 1e-4 : 0.05;
      expect_the_cpus(shape, {NormStats::batch(), true, true}, type, tolerance);
      expect_the_cpus(shape, {NormStats::blended(0.3), false, false}, type,
                      tolerance);
    }
}

TEST_F(GpuNorm, TakesChannelsItsKernelsDoNot) {
  expect_the_cpus({6, 5, 9, 33});
  expect_the_cpus({6, 24, 7, 3});
  expect_the_cpus({6, 96, 7, 3});
}

TEST_F(GpuNorm, IsNearWithBfloat16) {
  expect_the_cpus({6, 16, 9, 33}, at::kBFloat16, 0.05);
  expect_the_cpus({2, 128, 16, 16}, at::kBFloat16, 0.05);
  expect_the_cpus({64, 64, 8, 8}, at::kBFloat16, 0.05);
  expect_the_cpus({64, 512, 4, 4}, at::kBFloat16, 0.05);
  expect_the_cpus({5, 128, 6, 6}, at::kBFloat16, 0.05);
}

TEST_F(GpuNorm, AddsTheGradientsOfTwoReaders) {
  const Case how;
  for (const int64_t channels : {16, 64}) {
    const Layer layer({4, channels, 6, 6}, gpu);
    const Results wanted = run(layer, how);
    const Fork fork = forked_norm_relu(layer.input.mul(1), layer.vectors,
                                       how.stats, {layer.residual});
    const at::Tensor one = layer.weight * 0.25, other = layer.weight * 0.75;
    const auto found =
        gradients_of((fork.path * one).sum() + (fork.shortcut * other).sum(),
                     {layer.vectors.scale, layer.vectors.shift, layer.input,
                      layer.residual});
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(testing::close(found[i].cpu(),
                                 wanted[kFirstGradient + i].cpu(), 1e-4, 1e-4))
          << "gradient " << i;
  }
}

TEST_F(GpuNorm, NeedsNoGradientOfTheInput) {
  const Case how;
  for (const int64_t channels : {16, 64}) {
    Layer layer({4, channels, 6, 6}, gpu);
    Results wanted = run(layer, how);
    wanted.erase(wanted.begin() + kFirstGradient + 2);
    layer.input = layer.input.detach();
    expect_same_bits(run(layer, how), wanted);
  }
}

// The output of norm_relu() lies over its input, its gradient too.
TEST_F(GpuNorm, GivesTheSameOverItsInputAndBeside) {
  const Case how = {NormStats::batch(), false, false};
  for (const int64_t channels : {16, 64}) {
    const Layer layer({4, channels, 6, 6}, gpu);
    const Results wanted = run(layer, how);
    const at::Tensor beside = batch_norm(layer.input, layer.vectors, how.stats);
    EXPECT_TRUE(beside.equal(wanted[0]));
    EXPECT_TRUE(gradient_of((beside * layer.weight).sum(), layer.input)
                    .equal(wanted[kFirstGradient + 2]));
    const at::NoGradGuard no_gradients;
    EXPECT_TRUE(layer.output(how).equal(wanted[0]));
  }
}

TEST_F(GpuNorm, GivesTheSameBitsAgain) {
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const int64_t channels : {16, 64, 256}) {
      const Layer layer({8, channels, 16, 16}, gpu, type);
      const Results first = run(layer, {});
      for (int again = 0; again < 20; ++again)
        expect_same_bits(run(layer, {}), first);
    }
}

TEST_F(GpuNorm, GivesTheSameBitsInSeveralThreads) {
  const Layer wanted_of({8, 64, 16, 16}, gpu);
  const Results wanted = run(wanted_of, {});
  std::vector<Results> found(4);
  std::vector<std::thread> threads;
  for (auto& results : found)
    threads.emplace_back([&results, this] {
      const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
      const c10::StreamGuard own(cuda.getStreamFromGlobalPool(gpu));
      const Layer layer({8, 64, 16, 16}, gpu);
      for (int again = 0; again < 20; ++again)
        results = run(layer, {});
      for (auto& result : results)
        result = result.cpu();
    });
  for (auto& thread : threads)
    thread.join();
  for (const auto& results : found)
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(results[i].equal(wanted[i].cpu())) << "result " << i;
}

TEST_F(GpuNorm, CapturedIsThePlainResult) {
  std::string warning;
  set_log_sink(
      [&](LogLevel, const std::string& message) { warning = message; });
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const int64_t channels : {16, 64, 256}) {
      const Layer layer({8, channels, 16, 16}, gpu, type);
      const Results wanted = run(layer, {});
      Results found;
      for (const auto& result : wanted)
        found.push_back(at::zeros_like(result));
      CudaGraph step(
          [&] {
            const Results results = run(layer, {});
            for (size_t i = 0; i < found.size(); ++i)
              found[i].copy_(results[i]);
          },
          gpu, /*capture=*/true);
      for (int64_t i = 0; i < CudaGraph::kWarmUpRuns; ++i)
        step.run();
      for (int launch = 0; launch < 3; ++launch) {
        for (auto& result : found)
          result.zero_();
        step.run();
        expect_same_bits(found, wanted);
      }
    }
  set_log_sink(nullptr);
  EXPECT_EQ(warning, "");
}

}  // namespace
}  // namespace sotta
