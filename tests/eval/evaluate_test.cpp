#include "sotta/eval/evaluate.h"

#include <algorithm>

#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "models/resnet.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

std::unique_ptr<Classifier> small_network() {
  const ResNetSpec spec = named_resnet("resnet8", 4, 1);
  return make_resnet(spec, random_resnet_state(spec, Rng(5)), {{0.5}, {0.2}});
}

// Images labelled by the network itself, the first `wrong` of them wrongly.
TensorDataset labelled_by(const Classifier& model, int64_t count,
                          int64_t wrong) {
  const at::Tensor images = at::randint(256, {count, 1, 8, 8}).to(at::kByte);
  at::Tensor labels =
      model.forward(images, model.source(), NormStats::running())
          .logits.argmax(1);
  labels.slice(0, 0, wrong).add_(1).remainder_(4);
  return TensorDataset({images, labels}, 4, "test");
}

TEST(Evaluate, CountsWhatTheModelGetsRight) {
  const auto model = small_network();
  const auto data = labelled_by(*model, 50, 10);
  const auto result = evaluate(*model, data, {});
  EXPECT_EQ(result.samples, 50);
  EXPECT_EQ(result.correct, 40);
  EXPECT_DOUBLE_EQ(result.accuracy(), 80);
}

TEST(Evaluate, BatchSizeDoesNotChangeTheResult) {
  const auto model = small_network();
  const auto data = labelled_by(*model, 23, 3);
  for (const int64_t batch : {1, 7, 23, 100})
    EXPECT_EQ(evaluate(*model, data, {batch, 0}).correct, 20) << batch;
}

TEST(Evaluate, LimitLooksAtTheFirstImagesOnly) {
  const auto model = small_network();
  const auto data = labelled_by(*model, 20, 5);
  EXPECT_EQ(evaluate(*model, data, {8, 10}).correct, 5);
  EXPECT_EQ(evaluate(*model, data, {8, 1000}).samples, 20);
}

TEST(Evaluate, ReportsProgressAndStopsWhenAsked) {
  const auto model = small_network();
  const auto data = labelled_by(*model, 20, 0);
  int calls = 0;
  const auto result =
      evaluate(*model, data, {4, 0}, [&](const Progress& progress) {
        EXPECT_EQ(progress.total, 20);
        return ++calls < 2;
      });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.samples, 8);
}

TEST(Evaluate, RefusesADatasetThatDoesNotFit) {
  const auto model = small_network();
  const at::Tensor labels = at::zeros({2}, at::kLong);
  const TensorDataset colour({at::zeros({2, 3, 8, 8}, at::kByte), labels}, 4,
                             "colour");
  const TensorDataset classes({at::zeros({2, 1, 8, 8}, at::kByte), labels}, 5,
                              "classes");
  EXPECT_THROW(evaluate(*model, colour, {}), Error);
  EXPECT_THROW(evaluate(*model, classes, {}), Error);
  EXPECT_THROW(evaluate(*model, labelled_by(*model, 2, 0), {0, 0}), Error);
}

TEST(Evaluate, TellsHowFarItIsAndHowWellItGoes) {
  const auto model = small_network();
  const auto data = labelled_by(*model, 10, 3);
  std::vector<std::string> seen;
  evaluate(*model, data, {4, 0}, [&](const Progress& now) {
    seen.push_back(std::to_string(now.done) + "/" + std::to_string(now.total) +
                   " " + now.note);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"4/10 accuracy 25.00 %",
                                            "8/10 accuracy 62.50 %",
                                            "10/10 accuracy 70.00 %"}));
}

TEST(Evaluate, ALimitOfOneIsOneImage) {
  const auto model = small_network();
  const auto data = labelled_by(*model, 5, 1);
  for (const int64_t limit : {1, 4, 5, 6}) {
    const auto result = evaluate(*model, data, {2, limit});
    EXPECT_EQ(result.samples, std::min<int64_t>(limit, 5));
    EXPECT_EQ(result.correct, result.samples - 1);
    EXPECT_FALSE(result.stopped);
    EXPECT_GT(result.seconds, 0);
  }
}

TEST(Evaluate, WithoutSamplesTheAccuracyIsZero) {
  EXPECT_EQ(EvaluateResult{}.accuracy(), 0);
  EvaluateResult one;
  one.samples = one.correct = 1;
  EXPECT_EQ(one.accuracy(), 100);
}

TEST(Evaluate, RefusesOptionsOutOfRange) {
  const auto model = small_network();
  const auto data = labelled_by(*model, 2, 0);
  testing::expect_error(ErrorKind::kInvalid, "batch", [&] {
    evaluate(*model, data, {0, 0});
  });
  testing::expect_error(ErrorKind::kInvalid, "limit", [&] {
    evaluate(*model, data, {1, -1});
  });
  EXPECT_EQ(evaluate(*model, data, {1, 0}).samples, 2);
}

}  // namespace
}  // namespace sotta
