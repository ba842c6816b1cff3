#include "serve/streams/network_answer.h"

#include <ATen/ops/tensor.h>

#include "tests/adapt/small_adapter.h"

namespace sotta {
namespace {

using testing::golden_stream;
using testing::kSmallWindow;
using testing::small_adapter;

TEST(PublishedNetwork, SaysWhatTheAdapterSaidWhenItWasMade) {
  const auto adapter = small_adapter("sotta");
  adapter->step(golden_stream().slice(0, 0, kSmallWindow));
  const at::Tensor images = golden_stream().slice(0, 20, 25).contiguous();
  const StreamAnswer wanted = answer_with(*adapter, images);

  const PublishedNetwork network(*adapter);
  adapter->step(golden_stream().slice(0, kSmallWindow, 2 * kSmallWindow));

  EXPECT_TRUE(network.answer(images) == wanted);
  EXPECT_FALSE(answer_with(*adapter, images) == wanted);
}

// Screened SoTTA at first predicts with averages that a call's own images are
// counted in.
TEST(PublishedNetwork, LeavesOutTheStatisticsOfTheImagesThemselves) {
  const auto adapter = small_adapter("screened_sotta");
  adapter->step(golden_stream().slice(0, 0, kSmallWindow));
  const at::Tensor images = golden_stream().slice(0, 20, 25).contiguous();
  const PublishedNetwork network(*adapter);
  const at::Tensor running =
      adapter->model()
          .forward(images, adapter->state(), NormStats::running())
          .logits;
  const at::Tensor found =
      at::tensor(network.answer(images).logits).view(running.sizes());
  EXPECT_TRUE(testing::close(found, running));
  EXPECT_FALSE(testing::close(found, adapter->predict_logits(images)));
}

TEST(PublishedNetwork, KnowsTheSizeOfImages) {
  const auto adapter = small_adapter("sotta");
  const at::Tensor images = golden_stream().slice(0, 0, 2);
  const at::Tensor smaller = images.narrow(2, 0, images.size(2) - 1);
  EXPECT_TRUE(PublishedNetwork(*adapter).fits(smaller));

  adapter->step(images);

  EXPECT_TRUE(PublishedNetwork(*adapter).fits(images));
  EXPECT_FALSE(PublishedNetwork(*adapter).fits(smaller));
}

TEST(PublishedNetwork, IsForMethodsThatLearnAndPredictWithRunningStatistics) {
  for (const std::string method : {"sotta", "screened_sotta", "rotta"})
    EXPECT_TRUE(PublishedNetwork::can_publish(*small_adapter(method)))
        << method;
  for (const std::string method : {"tent", "sar", "cotta", "lame", "source"})
    EXPECT_FALSE(PublishedNetwork::can_publish(*small_adapter(method)))
        << method;
}

}  // namespace
}  // namespace sotta
