#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "models/named_network.h"
#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"
#include "tests/train/small_problem.h"
#include "train/trainer.h"

namespace sotta {
namespace {

class GpuTraining : public testing::OnGpu {
 protected:
  // The whole training, as one vector on the CPU.
  static at::Tensor trained(at::Device device, const TrainOptions& options) {
    Setup setup(device, options);
    while (!setup.trainer.done())
      setup.trainer.advance();
    return testing::all_numbers(setup.trainer.state()).cpu();
  }

  struct Setup {
    Setup(at::Device device, const TrainOptions& options,
          bool transformer = false)
        : model(transformer ? vit(device) : network(device)),
          trainer(*model,
                  load_training_set(
                      TensorDataset(testing::bright_halves(60), 3, "halves"), 1,
                      device),
                  options) {}

    static std::unique_ptr<Classifier> network(at::Device device) {
      ResNetSpec spec;
      spec.widths = {4, 6};
      spec.blocks = {1, 1};
      spec.channels = 1;
      spec.classes = 3;
      return make_resnet(spec, random_resnet_state(spec, Rng(1)).to(device),
                         {{0.3}, {0.2}});
    }

    // Heads of 32 numbers, which kernels of attention take.
    static std::unique_ptr<Classifier> vit(at::Device device) {
      const NamedNetwork named = named_network("vit_tiny", {3, 1, 8, 8}, 96);
      return named.make(named.random_state(Rng(1)).to(device), {{0.3}, {0.2}},
                        {});
    }

    std::unique_ptr<Classifier> model;
    Trainer trainer;
  };

  static TrainOptions transformer_options(const char* precision,
                                          bool cuda_graphs) {
    TrainOptions options = testing::transformer_options();
    options.rate = 1e-3;
    options.precision = precision;
    options.cuda_graphs = cuda_graphs;
    return options;
  }

  // Five steps an epoch: the recording begins in the second of four.
  static TrainOptions options(const char* precision, bool cuda_graphs) {
    TrainOptions options = testing::small_options();
    options.epochs = 4;
    options.precision = precision;
    options.cuda_graphs = cuda_graphs;
    return options;
  }
};

TEST_F(GpuTraining, GivesTheCpusWeights) {
  const at::Tensor expected = trained(at::kCPU, options("fp32", false));
  EXPECT_TRUE(testing::close(trained(gpu, options("fp32", false)), expected,
                             1e-3, 1e-2));
}

TEST_F(GpuTraining, CapturedStepsAreTheStepsThemselves) {
  for (const char* precision : {"fp32", "bf16"})
    EXPECT_TRUE(testing::close(trained(gpu, options(precision, true)),
                               trained(gpu, options(precision, false)), 1e-3,
                               1e-2))
        << precision;
}

TEST_F(GpuTraining, FiguresCountCapturedStepsToo) {
  Setup captured(gpu, options("fp32", true)),
      plain(gpu, options("fp32", false));
  while (!plain.trainer.done()) {
    captured.trainer.advance();
    plain.trainer.advance();
  }
  for (int64_t epoch = 0; epoch < 4; ++epoch)
    EXPECT_NEAR(captured.trainer.figures(epoch).loss,
                plain.trainer.figures(epoch).loss, 1e-2);
}

// Adam makes signs of gradients that are all rounding, so losses are compared.
TEST_F(GpuTraining, TransformersAreTrainedAsOnTheCpu) {
  Setup cpu(at::kCPU, transformer_options("fp32", false), true),
      plain(gpu, transformer_options("fp32", false), true),
      captured(gpu, transformer_options("fp32", true), true),
      coarse(gpu, transformer_options("bf16", true), true);
  for (Setup* setup : {&cpu, &plain, &captured, &coarse})
    while (!setup->trainer.done())
      setup->trainer.advance();
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    const double expected = cpu.trainer.figures(epoch).loss;
    EXPECT_NEAR(plain.trainer.figures(epoch).loss, expected, 0.02);
    EXPECT_NEAR(captured.trainer.figures(epoch).loss, expected, 0.02);
    EXPECT_NEAR(coarse.trainer.figures(epoch).loss, expected, 0.1);
  }
}

TEST_F(GpuTraining, RestoredBetweenLaunchesGoesOn) {
  Setup first(gpu, options("fp32", true)), second(gpu, options("fp32", true));
  while (first.trainer.step() < 13)
    first.trainer.advance();
  while (second.trainer.step() < 11)
    second.trainer.advance();
  second.trainer.restore(first.trainer.save());
  while (!first.trainer.done()) {
    first.trainer.advance();
    second.trainer.advance();
  }
  EXPECT_TRUE(testing::close(testing::all_numbers(second.trainer.state()).cpu(),
                             testing::all_numbers(first.trainer.state()).cpu(),
                             1e-3, 1e-2));
}

}  // namespace
}  // namespace sotta
