#include "adapt/methods/fisher.h"

#include <cmath>

#include "core/draw.h"
#include "tests/adapt/trace.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::Trace;

Executor linear_executor() {
  return Executor(
      std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale));
}

TEST(Fisher, DrawsThePlacesOfTheTrace) {
  const Trace trace("eata_clean");
  const at::Tensor expected = trace.golden()["fisher_chosen"];
  const auto places =
      draw_without_replacement(24, 20, trace.context().rng.child("fisher"));
  ASSERT_EQ(static_cast<int64_t>(places.size()), expected.numel());
  for (int64_t i = 0; i < expected.numel(); ++i)
    EXPECT_EQ(places[static_cast<size_t>(i)], expected[i].item<int64_t>()) << i;
}

TEST(Fisher, EqualsPyTorch) {
  const Trace trace("eata_clean");
  const at::Tensor images = testing::Golden("methods/stream")["fisher_clean"];
  const at::Tensor places = trace.golden()["fisher_chosen"];
  const at::Tensor fisher = fisher_information(
      *executor_of(trace.context()), images.index_select(0, places), 16);
  EXPECT_TRUE(testing::close(fisher, trace.golden()["fisher"], 1e-6, 1e-4));
}

// Two batches of one sample: the derivative of -log p by its logit is p - 1,
// with p = 3/4 and 9/10. Shifts get its square, the first scale that times the
// squared pixel; the second pixel is 0.
TEST(Fisher, TwoSamplesComputedByHand) {
  const at::Tensor fisher = fisher_information(
      linear_executor(), testing::two_class_images({std::log(3), std::log(9)}),
      1);

  const double pixel = std::log(3) / 4;  // ln 9 = 2 ln 3
  const double shift = (1.0 / 16 + 1.0 / 100) / 2;
  const double scale = pixel * pixel * (1.0 / 16 + 4.0 / 100) / 2;
  const at::Tensor expected = at::tensor({scale, 0.0, shift, shift});
  EXPECT_TRUE(testing::close(fisher, expected.to(at::kFloat)));
}

TEST(Fisher, TheLastBatchMayBeSmaller) {
  const Executor executor = linear_executor();
  const at::Tensor images =
      testing::two_class_images({std::log(3), std::log(3), std::log(3)});
  EXPECT_TRUE(testing::close(fisher_information(executor, images, 2),
                             fisher_information(executor, images, 3)));
}

}  // namespace
}  // namespace sotta
