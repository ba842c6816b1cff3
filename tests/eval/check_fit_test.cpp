#include "eval/check_fit.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::expect_error;

TensorDataset images(int64_t channels, int64_t classes) {
  return TensorDataset(
      {at::zeros({1, channels, 1, 1}, at::kByte), at::zeros({1}, at::kLong)},
      classes, "test");
}

TEST(CheckFit, NamesTheDatasetAndBothNumbers) {
  const testing::LinearClassifier model(3, 1);
  check_fit(model, images(3, 3), "mine");
  expect_error(ErrorKind::kInvalid, "mine: the model tells 3 classes apart",
               [&] { check_fit(model, images(3, 4), "mine"); });
  expect_error(ErrorKind::kInvalid, "images of 3 channels",
               [&] { check_fit(model, images(1, 3), "mine"); });
}

TEST(CheckFit, SaysWhatTheDatasetHas) {
  const testing::LinearClassifier model(3, 1);
  expect_error(ErrorKind::kInvalid,
               "mine: the model tells 3 classes apart, the dataset has 4",
               [&] { check_fit(model, images(3, 4), "mine"); });
  expect_error(ErrorKind::kInvalid,
               "mine: the model takes images of 3 channels, the dataset has 1",
               [&] { check_fit(model, images(1, 3), "mine"); });
}

}  // namespace
}  // namespace sotta
