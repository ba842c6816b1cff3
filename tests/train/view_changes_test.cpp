#include "train/view_changes.h"

#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace sotta {
namespace {

const ImageShape kShape = {1, 8, 8};

ViewChanges drawn(const TrainOptions& options, int64_t views = 4000,
                  int64_t epoch = 0) {
  return draw_changes(kShape, views, options, epoch, at::kCPU);
}

at::Tensor boxes(const std::vector<int64_t>& edges) {
  return at::tensor(edges).view({-1, 4});
}

// Height and width of each box: [n].
std::pair<at::Tensor, at::Tensor> sides(const at::Tensor& all) {
  return {all.select(1, 1) - all.select(1, 0),
          all.select(1, 3) - all.select(1, 2)};
}

TEST(ViewChanges, NothingIsChangedUnlessAskedFor) {
  const ViewChanges changes = drawn({});
  EXPECT_FALSE(changes.erased.defined());
  EXPECT_FALSE(changes.weight.defined());
  const at::Tensor views = at::arange(8).to(at::kByte).view({2, 1, 2, 2});
  EXPECT_TRUE(changed_views(views, changes).is_same(views));
  const at::Tensor labels = at::arange(2);
  EXPECT_TRUE(main_labels(labels, changes).is_same(labels));
}

TEST(ViewChanges, ErasesARectangleOfEveryChannel) {
  ViewChanges changes;
  changes.erased = boxes({0, 2, 1, 2,  //
                          0, 0, 0, 0});
  const at::Tensor views = at::ones({2, 2, 2, 3}, at::kByte) * 7;
  const at::Tensor expected = views.clone();
  expected.select(0, 0).select(2, 1).zero_();
  EXPECT_TRUE(changed_views(views, changes).equal(expected));
}

// Two views of 1 x 2 pixels; each is the other's partner.
TEST(ViewChanges, MixesWithThePartnerByHand) {
  ViewChanges changes;
  changes.replaced = boxes({0, 0, 0, 0,  // none
                            0, 1, 1, 2});
  changes.weight = at::tensor({0.75F, 1.0F});
  changes.share = at::tensor({0.75F, 0.5F});
  const at::Tensor views =
      at::tensor({0, 255, 51, 102}).to(at::kByte).view({2, 1, 1, 2});
  EXPECT_TRUE(testing::close(
      changed_views(views, changes).flatten(),
      at::tensor({0.25F * 0.2F, 0.75F + 0.25F * 0.4F, 0.2F, 1.0F})));
}

TEST(ViewChanges, ErasesBeforeItMixes) {
  ViewChanges changes;
  changes.erased = boxes({0, 1, 0, 1, 0, 0, 0, 0});
  changes.replaced = boxes({0, 0, 0, 0, 0, 0, 0, 0});
  changes.weight = changes.share = at::tensor({0.5F, 0.5F});
  const at::Tensor views = at::ones({2, 1, 1, 1}, at::kByte) * 255;
  EXPECT_TRUE(testing::close(changed_views(views, changes).flatten(),
                             at::tensor({0.5F, 0.5F})));
}

TEST(ViewChanges, LossOfMixedLabelsByHand) {
  ViewChanges changes;
  changes.share = at::tensor({0.7F, 1.0F});
  const at::Tensor labels = at::arange(2) * 2, logits = at::zeros({2, 3});
  logits[0][0] = logits[1][2] = std::log(2.0);  // shares 1/2, 1/4, 1/4
  const double right = std::log(2.0), wrong = std::log(4.0);
  EXPECT_NEAR(loss_of(logits, labels, changes, 0).item<double>(),
              (0.7 * right + 0.3 * wrong + right) / 2, 1e-6);
  // A share of 0.3 goes to all three classes alike.
  const double all = (right + 2 * wrong) / 3;
  EXPECT_NEAR(loss_of(logits, labels, changes, 0.3).item<double>(),
              0.7 * (0.7 * right + 0.3 * wrong + right) / 2 + 0.3 * all, 1e-6);
  EXPECT_NEAR(loss_of(logits, labels, {}, 0.3).item<double>(),
              0.7 * right + 0.3 * all, 1e-6);
}

TEST(ViewChanges, TheLabelWithTheLargerShareCounts) {
  ViewChanges changes;
  changes.share = at::tensor({0.4F, 0.5F, 0.1F});
  EXPECT_TRUE(
      main_labels(at::tensor({5, 6, 7}), changes).equal(at::tensor({7, 6, 5})));
}

TEST(ViewChanges, MixupSharesFollowBeta) {
  for (const double alpha : {0.2, 1.0, 3.0}) {
    TrainOptions options;
    options.mixup = alpha;
    const ViewChanges changes = drawn(options);
    EXPECT_TRUE(changes.weight.equal(changes.share));
    EXPECT_EQ(changes.replaced.abs().sum().item<int64_t>(), 0);
    EXPECT_NEAR(changes.share.mean().item<double>(), 0.5, 0.03);
    // The variance of Beta(a, a).
    EXPECT_NEAR(changes.share.var(false).item<double>(),
                1 / (4 * (2 * alpha + 1)), 0.01)
        << alpha;
  }
}

TEST(ViewChanges, CutMixSharesAreTheAreasThatStay) {
  TrainOptions options;
  options.cutmix = 1;
  const ViewChanges changes = drawn(options);
  EXPECT_TRUE(changes.weight.equal(at::ones({4000})));
  const auto [height, width] = sides(changes.replaced);
  EXPECT_TRUE(testing::close(changes.share,
                             1 - (height * width).to(at::kFloat) / 64, 1e-6));
  EXPECT_GE(height.min().item<int64_t>(), 0);
  EXPECT_GE(changes.replaced.min().item<int64_t>(), 0);
  EXPECT_LE(changes.replaced.max().item<int64_t>(), 8);
  // Boxes reach every edge, and shares are spread out.
  EXPECT_EQ(changes.replaced.select(1, 1).max().item<int64_t>(), 8);
  EXPECT_GT(changes.share.std().item<double>(), 0.15);
}

TEST(ViewChanges, ACoinDecidesBetweenBoth) {
  TrainOptions options;
  options.mixup = 0.8;
  options.cutmix = 1;
  const ViewChanges changes = drawn(options);
  EXPECT_NEAR(changes.weight.eq(1).to(at::kFloat).mean().item<double>(), 0.5,
              0.05);
}

TEST(ViewChanges, ErasedRectanglesHaveTheirProbabilityAndSize) {
  TrainOptions options;
  options.erase = 0.25;
  const ViewChanges changes = drawn(options);
  EXPECT_FALSE(changes.weight.defined());
  const auto [height, width] = sides(changes.erased);
  const at::Tensor area = (height * width).to(at::kFloat) / 64;
  EXPECT_NEAR(area.gt(0).to(at::kFloat).mean().item<double>(), 0.25, 0.04);
  EXPECT_LT(area.max().item<double>(), 0.5);
  EXPECT_GT(area.max().item<double>(), 0.25);
  EXPECT_GT(height.gt(width).sum().item<int64_t>(), 200);
  EXPECT_GT(width.gt(height).sum().item<int64_t>(), 200);
  EXPECT_LE(changes.erased.max().item<int64_t>(), 8);
}

TEST(ViewChanges, DependOnSeedAndEpochAlone) {
  TrainOptions options;
  options.mixup = options.erase = 0.5;
  const ViewChanges changes = drawn(options, 50);
  EXPECT_TRUE(drawn(options, 50).share.equal(changes.share));
  EXPECT_TRUE(drawn(options, 50).erased.equal(changes.erased));
  EXPECT_FALSE(drawn(options, 50, 1).share.equal(changes.share));
  EXPECT_FALSE(drawn(options, 50, 1).erased.equal(changes.erased));
  options.seed = 1;
  EXPECT_FALSE(drawn(options, 50).share.equal(changes.share));
}

TEST(ViewChanges, PlainEpochsAreTheLastAndKeepTheirViews) {
  TrainOptions options;
  options.epochs = 5;
  options.plain_epochs = 2;
  options.mixup = options.cutmix = options.erase = 1;
  const at::Tensor views =
      (at::arange(50 * 64) % 256).to(at::kByte).view({50, 1, 8, 8});
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    const ViewChanges changes = drawn(options, 50, epoch);
    const bool same =
        changed_views(views, changes).equal(views.to(at::kFloat) / 255);
    EXPECT_EQ(same, epoch >= 3) << epoch;
    EXPECT_EQ(changes.share.eq(1).all().item<bool>(), epoch >= 3);
  }
}

TEST(ViewChanges, AreSelectedAndCopiedTogether) {
  TrainOptions options;
  options.mixup = options.cutmix = options.erase = 0.5;
  const ViewChanges all = drawn(options, 20), other = drawn(options, 20, 1);
  const at::Tensor places = at::tensor({7, 3});
  const ViewChanges two = all.select(places);
  for (const auto part : {&ViewChanges::erased, &ViewChanges::replaced,
                          &ViewChanges::weight, &ViewChanges::share}) {
    EXPECT_TRUE((two.*part)[0].equal((all.*part)[7]));
    EXPECT_TRUE((two.*part)[1].equal((all.*part)[3]));
  }
  ViewChanges taken = all;
  taken.copy_from(other);
  EXPECT_TRUE(all.share.equal(other.share)) << "in place";
  EXPECT_TRUE(all.erased.equal(other.erased));
  EXPECT_TRUE(all.replaced.equal(other.replaced));
  EXPECT_TRUE(all.weight.equal(other.weight));
}

}  // namespace
}  // namespace sotta
