#include "train/train_options.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "sotta/core/options.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

const at::Device kCpu(at::kCPU);

TEST(TrainOptions, AutoIsDecidedByTheDevice) {
  EXPECT_EQ(resolve({}, kCpu).precision, "fp32");
  EXPECT_EQ(resolve({}, at::Device(at::kCUDA, 0)).precision, "bf16");
  TrainOptions options;
  options.precision = "bf16";
  EXPECT_EQ(resolve(options, kCpu).precision, "bf16");
}

TEST(TrainOptions, OutOfRangeIsNamed) {
  const auto expect = [](const char* name,
                         const std::function<void(TrainOptions&)>& change) {
    TrainOptions options;
    change(options);
    testing::expect_error(ErrorKind::kInvalid, std::string(name) + ": expected",
                          [&] { resolve(options, kCpu); });
  };
  expect("seed", [](auto& o) { o.seed = -1; });
  expect("epochs", [](auto& o) { o.epochs = 0; });
  expect("batch", [](auto& o) { o.batch = 1; });
  expect("padding", [](auto& o) { o.padding = -1; });
  expect("padding", [](auto& o) { o.padding = 4097; });
  expect("rate", [](auto& o) { o.rate = 0; });
  expect("rate",
         [](auto& o) { o.rate = std::numeric_limits<double>::quiet_NaN(); });
  expect("rate",
         [](auto& o) { o.rate = std::numeric_limits<double>::infinity(); });
  expect("momentum", [](auto& o) { o.momentum = 1; });
  expect("weight_decay", [](auto& o) { o.weight_decay = -0.1; });
  expect("precision", [](auto& o) { o.precision = "fp16"; });
  expect("momentum", [](auto& o) { o.momentum = 0; });
  expect("rate", [](auto& o) { o.optimiser = "adamw"; });
  expect("warm_up", [](auto& o) { o.warm_up = -1; });
  expect("warm_up", [](auto& o) { o.warm_up = o.epochs; });
  expect("label_smoothing", [](auto& o) { o.label_smoothing = 1; });
  expect("label_smoothing", [](auto& o) { o.label_smoothing = -0.1; });
  expect("erase", [](auto& o) { o.erase = 1.1; });
  expect("erase", [](auto& o) { o.erase = -0.1; });
  expect("mixup", [](auto& o) { o.mixup = 4.1; });
  expect("mixup", [](auto& o) { o.mixup = -0.1; });
  expect("cutmix", [](auto& o) { o.cutmix = 4.1; });
  expect("cutmix", [](auto& o) { o.cutmix = -0.1; });
  expect("plain_epochs", [](auto& o) { o.plain_epochs = -1; });
  expect("plain_epochs", [](auto& o) { o.plain_epochs = o.epochs + 1; });
}

TEST(TrainOptions, TheirBoundsAreAllowed) {
  TrainOptions options;
  options.epochs = 1;
  options.batch = 2;
  options.padding = 4096;
  options.weight_decay = 0;
  EXPECT_NO_THROW(resolve(options, kCpu));
  options.padding = 0;
  EXPECT_NO_THROW(resolve(options, kCpu));
  options.epochs = 2;
  options.warm_up = 1;
  options.plain_epochs = 2;
  options.erase = 1;
  options.mixup = options.cutmix = 4;
  options.optimiser = "adamw";
  options.rate = 0.02;
  EXPECT_NO_THROW(resolve(options, kCpu));
}

TEST(TrainOptions, ARefusalSaysWhatIsAllowed) {
  const auto refused = [](const std::string& message,
                          const std::function<void(TrainOptions&)>& change) {
    TrainOptions options;
    change(options);
    testing::expect_error(ErrorKind::kInvalid, message,
                          [&] { resolve(options, kCpu); });
  };
  refused("seed: expected at least 0, got -1", [](auto& o) { o.seed = -1; });
  refused("epochs: expected at least 1, got 0", [](auto& o) { o.epochs = 0; });
  refused("batch: expected at least 2, got 1", [](auto& o) { o.batch = 1; });
  refused("padding: expected 0 to 4096, got 4097",
          [](auto& o) { o.padding = 4097; });
  refused("rate: expected a number above 0, got 0",
          [](auto& o) { o.rate = 0; });
  refused("momentum: expected a number above 0 and below 1, got 1",
          [](auto& o) { o.momentum = 1; });
  refused("weight_decay: expected a number of at least 0, got -0.1",
          [](auto& o) { o.weight_decay = -0.1; });
  refused("optimiser: unknown name \"adam\"",
          [](auto& o) { o.optimiser = "adam"; });
  refused("rate: expected at most 0.02 with the optimiser adamw, got 0.1",
          [](auto& o) { o.optimiser = "adamw"; });
  refused("label_smoothing: expected a number from 0 to below 1, got 1",
          [](auto& o) { o.label_smoothing = 1; });
  refused("precision: expected fp32, bf16 or auto, got \"fp16\"",
          [](auto& o) { o.precision = "fp16"; });
}

TEST(TrainOptions, DefaultsArePinned) {
  std::string text;
  for (const auto& field : option_fields(TrainOptions{}))
    text += field.name + "=" + to_text(field.value) + " ";
  EXPECT_EQ(text,
            "seed=0 epochs=200 batch=128 optimiser=sgd rate=0.1 warm_up=0 "
            "momentum=0.9 weight_decay=5e-04 label_smoothing=0 padding=4 "
            "flip=true erase=0 mixup=0 cutmix=0 plain_epochs=0 "
            "precision=auto cuda_graphs=true ");
}

}  // namespace
}  // namespace sotta
