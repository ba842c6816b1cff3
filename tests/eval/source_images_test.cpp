#include "eval/source_images.h"

#include <set>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "core/draw.h"

namespace sotta {
namespace {

// Image i is filled with i.
TensorDataset numbered(int64_t count) {
  return TensorDataset({at::arange(count)
                            .to(at::kByte)
                            .reshape({count, 1, 1, 1})
                            .expand({count, 1, 8, 8})
                            .contiguous(),
                        at::zeros({count}, at::kLong)},
                       1, "numbered");
}

std::set<int64_t> numbers_in(const at::Tensor& images) {
  std::set<int64_t> numbers;
  for (int64_t i = 0; i < images.size(0); ++i)
    numbers.insert(images[i][0][0][0].item<int64_t>());
  return numbers;
}

TEST(DrawSourceImages, DrawsWithoutReplacementAndRepeatably) {
  const auto data = numbered(20);
  const at::Tensor images = draw_source_images(data, 12, Rng(1));
  EXPECT_EQ(numbers_in(images).size(), 12u);
  EXPECT_TRUE(images.equal(draw_source_images(data, 12, Rng(1))));
  EXPECT_FALSE(images.equal(draw_source_images(data, 12, Rng(2))));
}

TEST(DrawSourceImages, TakesAllIfThereAreFewer) {
  EXPECT_EQ(numbers_in(draw_source_images(numbered(5), 12, Rng(1))).size(), 5u);
}

TEST(MixedSourceImages, ShowsCleanImagesBetweenForeignOnes) {
  StreamSources sources;
  sources.name = "test";
  sources.domains = {
      {"fog-5", std::make_shared<TensorDataset>(
                    LabelledImages{at::full({6, 1, 8, 8}, 200, at::kByte),
                                   at::zeros({6}, at::kLong)},
                    1, "corrupted")}};
  StreamOptions options;
  options.scenario = "noise";
  const auto plan = std::make_shared<const StreamPlan>(options, sources);
  const auto clean = numbered(6);

  const at::Tensor images = mixed_source_images(clean, plan, sources, 9);
  ASSERT_EQ(images.size(0), 9);
  for (int64_t i = 0; i < 9; ++i) {
    const bool is_clean = images[i].eq((*plan)[i].index).all().item<bool>();
    EXPECT_EQ(is_clean, (*plan)[i].benign()) << i;
  }
}

TEST(MixedSourceImages, ShowsTheAttackersCopiesCleanToo) {
  StreamSources sources;
  sources.name = "test";
  sources.domains = {
      {"fog-5", std::make_shared<TensorDataset>(
                    LabelledImages{at::full({6, 1, 8, 8}, 200, at::kByte),
                                   at::zeros({6}, at::kLong)},
                    1, "corrupted")}};
  StreamOptions options;
  options.scenario = "attack";
  const auto plan = std::make_shared<const StreamPlan>(options, sources);

  const at::Tensor images = mixed_source_images(numbered(6), plan, sources, 12);
  ASSERT_EQ(images.size(0), 12);
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_TRUE(images[i].eq((*plan)[i].index).all().item<bool>()) << i;
}

TEST(DrawSourceImages, OrderIsThatOfTheDraws) {
  const at::Tensor images = draw_source_images(numbered(9), 4, Rng(23));
  ASSERT_EQ(images.size(0), 4);
  const auto drawn = draw_without_replacement(9, 4, Rng(23));
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(images[i][0][0][0].item<int64_t>(),
              drawn[static_cast<size_t>(i)]);
}

TEST(MixedSourceImages, TakesTheWholeStreamIfItIsShorter) {
  StreamSources sources;
  sources.name = "test";
  sources.domains = {{"clean", std::make_shared<TensorDataset>(numbered(6))}};
  StreamOptions options;
  options.scenario = "noise";
  const auto plan = std::make_shared<const StreamPlan>(options, sources);
  const at::Tensor all = Stream(plan, sources).read(0, 12);
  EXPECT_TRUE(mixed_source_images(numbered(6), plan, sources, 100).equal(all));
  EXPECT_TRUE(mixed_source_images(numbered(6), plan, sources, 5)
                  .equal(all.slice(0, 0, 5)));
}

}  // namespace
}  // namespace sotta
