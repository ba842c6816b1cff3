#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "sotta/core/rng.h"
#include "sotta/engine/engine.h"
#include "sotta/gpu/device.h"
#include "sotta/models/weights.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "engine/cuda/cuda_classifier.h"
#include "gpu/device_queue.h"
#include "gpu/kernels/pixel_rows.h"
#include "models/resnet.h"
#include "nn/convolution.h"
#include "nn/pixels.h"
#include "nn/random_tensor.h"
#include "tests/gpu/on_gpu.h"
#include "tests/gpu/own_convolution.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

class GpuForward : public testing::OnGpu {
 protected:
  static std::unique_ptr<Classifier> network(
      at::Device device, Precision precision = Precision::kFloat32) {
    return choose_engine(reference(device, precision));
  }
  static std::unique_ptr<Classifier> reference(
      at::Device device, Precision precision = Precision::kFloat32) {
    LoadOptions options;
    options.device = device;
    options.precision = precision;
    return make_classifier(testing::Golden("methods/network").file(), options,
                           "network");
  }
  static at::Tensor gradient(const Classifier& model, const at::Tensor& input) {
    ModelState state = model.source().clone_norm();
    state.affine = as_leaf(state.affine);
    const auto result = model.forward(input, state, NormStats::batch());
    return gradient_of(entropy(result.logits).mean(), state.affine).cpu();
  }
  const at::Tensor images =
      testing::Golden("methods/stream")["images"].narrow(0, 0, 16);
};

TEST_F(GpuForward, LogitsAndStatisticsAreTheCpus) {
  const auto on_cpu = network(at::kCPU), on_gpu = network(gpu);
  for (const NormStats stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.05)}) {
    const auto wanted = on_cpu->forward(images, on_cpu->source(), stats);
    const auto found = on_gpu->forward(images.to(gpu), on_gpu->source(), stats);
    EXPECT_TRUE(testing::close(found.logits.cpu(), wanted.logits, 1e-4));
    EXPECT_TRUE(testing::close(found.features.cpu(), wanted.features, 1e-4));
    if (!wanted.batch_mean.defined()) continue;
    EXPECT_TRUE(
        testing::close(found.batch_mean.cpu(), wanted.batch_mean, 1e-4));
    EXPECT_TRUE(testing::close(found.batch_var.cpu(), wanted.batch_var, 1e-4));
  }
}

TEST_F(GpuForward, ABatchFilledUpForConvolutionsGivesTheSame) {
  const auto on_cpu = network(at::kCPU);
  const auto wanted =
      on_cpu->forward(images, on_cpu->source(), NormStats::batch());
  const at::Tensor wanted_gradient = gradient(*on_cpu, images);
  const LeastBatch filled_up(24);
  for (const bool own_engine : {false, true}) {
    auto on_gpu = reference(gpu);
    if (own_engine) on_gpu = engine::make_cuda(std::move(on_gpu));
    const auto found =
        on_gpu->forward(images.to(gpu), on_gpu->source(), NormStats::batch());
    EXPECT_TRUE(testing::close(found.logits.cpu(), wanted.logits, 1e-4));
    EXPECT_TRUE(testing::close(found.batch_var.cpu(), wanted.batch_var, 1e-4));
    EXPECT_TRUE(testing::close(gradient(*on_gpu, images.to(gpu)),
                               wanted_gradient, 1e-4, 1e-3));
  }
}

TEST_F(GpuForward, CoarserPrecisionsStayNear) {
  const auto exact = network(at::kCPU);
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16})
    for (const NormStats stats :
         {NormStats::running(), NormStats::batch(), NormStats::blended(0.05)}) {
      const auto coarse = network(gpu, precision);
      const auto wanted = exact->forward(images, exact->source(), stats);
      const auto found =
          coarse->forward(images.to(gpu), coarse->source(), stats);
      EXPECT_TRUE(testing::close(found.logits.cpu(), wanted.logits, 0.1, 0.1))
          << to_text(precision);
    }
}

TEST_F(GpuForward, GradientsAreTheCpus) {
  const auto on_cpu = network(at::kCPU), on_gpu = network(gpu);
  EXPECT_TRUE(testing::close(gradient(*on_gpu, images.to(gpu)),
                             gradient(*on_cpu, images), 1e-4, 1e-3));
}

// Channels last, a wider stem and own norm layers, without the rounding that
// they come with.
TEST_F(GpuForward, LayoutOfTheCudaEngineChangesNothing) {
  const auto on_cpu = network(at::kCPU),
             on_gpu = engine::make_cuda(reference(gpu));
  const auto logits = [&](const Classifier& model, const at::Tensor& input) {
    return model.forward(input, model.source(), NormStats::running())
        .logits.cpu();
  };
  EXPECT_TRUE(testing::close(logits(*on_gpu, images.to(gpu)),
                             logits(*on_cpu, images), 1e-4));
  EXPECT_TRUE(testing::close(gradient(*on_gpu, images.to(gpu)),
                             gradient(*on_cpu, images), 1e-4, 1e-3));
}

// Wide enough for our own convolution, which the golden network is not.
class GpuWideForward : public GpuForward {
 protected:
  void SetUp() override {
    GpuForward::SetUp();
    if (!IsSkipped() && !testing::has_own_convolution(gpu))
      GTEST_SKIP() << "not a GPU of compute capability 9.0, or a build "
                      "without kernels for it";
  }

  static std::unique_ptr<Classifier> wide_network(
      at::Device device, const DeviceSettings& settings = {}) {
    ResNetSpec spec;
    spec.widths = {64, 128};
    spec.blocks = {2, 2};
    return choose_engine(
        make_resnet(spec, random_resnet_state(spec, Rng(1)).to(device),
                    {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}}, settings),
        {device.is_cuda() ? "auto" : "libtorch"});
  }

  // Patches of colour, so that no two images look alike.
  static at::Tensor wide_images() {
    Rng rng(2);
    return (random_uniform(rng, {16, 3, 8, 8}) * 255)
        .to(at::kByte)
        .repeat_interleave(4, 2)
        .repeat_interleave(4, 3);
  }

  struct Results {
    at::Tensor logits, gradient;  // on the CPU
    int64_t own_convolutions;     // that the gradient went back through
  };

  static Results results_of(const Classifier& model, const at::Tensor& input) {
    ModelState state = model.source().clone_norm();
    state.affine = as_leaf(state.affine);
    const at::Tensor logits =
        model.forward(input, state, NormStats::batch()).logits;
    const int64_t own = count_nodes(logits, "PackedConvolution");
    return {logits.detach().cpu(),
            gradient_of(entropy(logits).mean(), state.affine).cpu(), own};
  }

  // Of what LibTorch will go back through.
  static int64_t count_nodes(const at::Tensor& output,
                             const std::string& name) {
    std::set<const torch::autograd::Node*> seen{nullptr};
    std::vector<const torch::autograd::Node*> open{output.grad_fn().get()};
    int64_t count = 0;
    while (!open.empty()) {
      const auto* node = open.back();
      open.pop_back();
      if (!seen.insert(node).second) continue;
      if (node->name().find(name) != std::string::npos) ++count;
      for (const auto& edge : node->next_edges())
        open.push_back(edge.function.get());
    }
    return count;
  }

  static double difference(const at::Tensor& found,
                           const at::Tensor& expected) {
    return ((found - expected).abs().max() / expected.abs().max())
        .item<double>();
  }
};

// Rounded by hand on a CPU, logits of such networks moved by up to 5e-4 of the
// largest (bf16: 2e-3) and gradients, whose ReLUs switch, by 5e-3 (1.5e-2).
TEST_F(GpuWideForward, ThroughOurOwnConvolutionsIsTheCpus) {
  constexpr int64_t kOfBlocks = 9;  // eight on their paths, one shortcut
  const at::Tensor input = wide_images();
  const Results wanted = results_of(*wide_network(at::kCPU), input);
  EXPECT_EQ(wanted.own_convolutions, 0);
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16}) {
    SCOPED_TRACE(to_text(precision));
    const bool fine = precision == Precision::kTf32;
    const Results coarse =
        results_of(*wide_network(gpu, {precision}), input.to(gpu));
    EXPECT_EQ(coarse.own_convolutions, kOfBlocks);
    EXPECT_LT(difference(coarse.logits, wanted.logits), fine ? 3e-3 : 1e-2);
    EXPECT_LT(difference(coarse.gradient, wanted.gradient), fine ? 1e-2 : 5e-2);
  }
}

// Norm layers are part of the convolutions in front of them where these are
// ours; in bf16 nothing is rounded between the two.
TEST_F(GpuWideForward, PredictsWhatTheCpuDoes) {
  const at::NoGradGuard no_gradients;
  const auto logits = [](const Classifier& model, const at::Tensor& input) {
    return model.forward(input, model.source(), NormStats::running())
        .logits.cpu();
  };
  const at::Tensor input = wide_images();
  const at::Tensor wanted = logits(*wide_network(at::kCPU), input);
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16})
    EXPECT_LT(difference(logits(*wide_network(gpu, {precision}), input.to(gpu)),
                         wanted),
              precision == Precision::kTf32 ? 3e-3 : 1e-2)
        << to_text(precision);
}

TEST_F(GpuWideForward, IsTheEnginesOfTheGpu) {
  EXPECT_EQ(wide_network(gpu, {Precision::kTf32})->engine(), "cuda-sm90");
  EXPECT_EQ(wide_network(gpu)->engine(), "libtorch");
  const auto names = available_engines();
  EXPECT_EQ(std::count(names.begin(), names.end(), "cuda-sm90"), 1);
}

// Precisions are the models' own, whatever else runs in the process.
TEST_F(GpuWideForward, WithTwoPrecisionsAtOnceEachGivesWhatItGivesAlone) {
  const at::Tensor input = wide_images().to(gpu);
  std::vector<std::unique_ptr<Classifier>> models;
  std::vector<at::Tensor> alone;
  for (const Precision precision :
       {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16}) {
    models.push_back(
        wide_network(gpu, {precision, /*tuned=*/false, /*shared=*/true}));
    alone.push_back(results_of(*models.back(), input).logits);
  }
  EXPECT_FALSE(alone[0].equal(alone[1]));

  std::atomic<int> wrong{0};
  const auto run = [&](size_t m) {
    const OwnQueue queue(gpu);
    for (int i = 0; i < 50; ++i)
      wrong += !results_of(*models[m], input).logits.equal(alone[m]);
  };
  std::vector<std::thread> threads;
  for (size_t m = 0; m < models.size(); ++m)
    threads.emplace_back(run, m);
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

// Lanes that are alike go through the norm layers together, others one by one.
TEST_F(GpuWideForward, LanesGiveWhatEachGivesAlone) {
  const NormStats kinds[] = {NormStats::batch(), NormStats::running(),
                             NormStats::blended(0.3)};
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16})
    for (const int64_t mixed : {0, 1})
      for (const size_t kind : {0, 1, 2}) {
        SCOPED_TRACE(std::string(to_text(precision)) + " " +
                     std::to_string(mixed) + " " + std::to_string(kind));
        const auto model =
            wide_network(gpu, {precision, /*tuned=*/false, /*shared=*/true});
        std::vector<Lane> lanes;
        std::vector<at::Tensor> leaves;
        for (int64_t i = 0; i < 3; ++i) {
          ModelState state = model->source().clone_norm();
          const double factor = 1 + 0.1 * static_cast<double>(i);
          state.affine = as_leaf(state.affine * factor);
          state.running_var *= factor;
          leaves.push_back(state.affine);
          lanes.push_back({wide_images().roll(i, 0).to(gpu), state,
                           kinds[(kind + (mixed ? i : 0)) % 3]});
        }
        const auto together = model->forward_lanes(lanes);
        at::Tensor loss;
        for (const auto& lane : together) {
          const at::Tensor own = entropy(lane.logits).mean();
          loss = loss.defined() ? loss + own : own;
        }
        const auto gradients = gradients_of(loss, leaves);
        for (size_t i = 0; i < lanes.size(); ++i) {
          SCOPED_TRACE(i);
          const auto alone =
              model->forward(lanes[i].images, lanes[i].state, lanes[i].stats);
          const auto near = [&](const at::Tensor& found,
                                const at::Tensor& expected,
                                double tolerance = 1e-3) {
            const double coarser = precision == Precision::kTf32 ? 1 : 10;
            EXPECT_LT(difference(found, expected), coarser * tolerance);
          };
          near(together[i].logits.detach(), alone.logits.detach());
          EXPECT_EQ(together[i].batch_var.defined(), alone.batch_var.defined());
          if (alone.batch_var.defined()) {
            near(together[i].batch_mean, alone.batch_mean);
            near(together[i].batch_var, alone.batch_var);
          }
          // Their ReLUs switch, as above.
          near(gradients[i],
               gradient_of(entropy(alone.logits).mean(), leaves[i]), 1e-2);
          const at::NoGradGuard no_gradients;
          near(model->forward_lanes(lanes)[i].logits, alone.logits.detach());
        }
      }
}

TEST_F(GpuForward, PixelRowsAreTheNormalisedBytes) {
  const at::Tensor bytes = images.to(gpu);
  const int64_t channels = bytes.size(1);
  const at::Tensor mean = at::full({1, channels, 1, 1}, 0.4,
                                   at::TensorOptions(gpu).dtype(at::kFloat));
  const at::Tensor std = mean * 0.5;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    if (!has_pixel_rows(bytes, type)) GTEST_SKIP() << "built without kernels";
    const at::Tensor rows = pixel_rows(bytes, mean, std, type);
    EXPECT_EQ(rows.size(1), pixel_row_width(type));
    EXPECT_TRUE(rows.narrow(1, 0, channels)
                    .equal((as_floats(bytes) - mean).div(std).to(type)));
    EXPECT_EQ(rows.narrow(1, channels, rows.size(1) - channels)
                  .abs()
                  .sum()
                  .item<float>(),
              0);
  }
}

}  // namespace
}  // namespace sotta
