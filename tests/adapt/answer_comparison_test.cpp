#include "adapt/floor/answer_comparison.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

constexpr int64_t kClasses = 4, kChannels = 1;

// Sure answers: class i % `varied` for image i.
at::Tensor sure(int64_t images, int64_t varied, int64_t first = 0) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < images; ++i)
    labels.push_back(first + i % varied);
  return at::one_hot(at::tensor(labels, at::kLong), kClasses).to(at::kFloat);
}

at::Tensor even(int64_t images) {
  return at::full({images, kClasses}, 1.0 / kClasses).to(at::kFloat);
}

// Right for 7 in 10 of the mass, the rest spread.
at::Tensor doubtful(int64_t images) {
  return 0.6F * sure(images, kClasses) + 0.4F * even(images);
}

// Looks of one kind, or of another far from it.
at::Tensor looks(int64_t images, double where) {
  const auto seed = static_cast<uint64_t>(3 + where);
  return at::randn({images, 20}, at::detail::createCPUGenerator(seed)) + where;
}

AnswerComparison of(const at::Tensor& adapted, const at::Tensor& source,
                    const at::Tensor& their_looks = {}) {
  AnswerComparison comparison;
  comparison.add(their_looks, adapted, source);
  return comparison;
}

double ahead(const at::Tensor& adapted, const at::Tensor& source) {
  return of(adapted, source).compare()->ahead;
}

// Two classes in turn, four images: the mean is (1/2, 1/2), ln 2; each class's
// variance is 1/4, so 2 * (1/4 / 1/2) / (2 * 4) is missing.
TEST(Telling, IsComputedByHand) {
  const Telling two = telling_of(sure(4, 2));
  EXPECT_NEAR(two.variety, std::log(2.0) + 0.125, 1e-6);
  EXPECT_NEAR(two.doubt, 0, 1e-6);
  EXPECT_NEAR(two.information(), std::log(2.0) + 0.125, 1e-6);

  const Telling even_ones = telling_of(even(4));
  EXPECT_NEAR(even_ones.variety, std::log(4.0), 1e-6);
  EXPECT_NEAR(even_ones.information(), 0, 1e-6);

  const Telling one = telling_of(sure(4, 1));
  EXPECT_NEAR(one.variety, 0, 1e-6);
  EXPECT_NEAR(one.information(), 0, 1e-6);
}

TEST(AnswerComparison, FewImagesSayNothing) {
  EXPECT_FALSE(AnswerComparison().compare().has_value());
  EXPECT_FALSE(of(sure(63, 4), sure(63, 4)).compare().has_value());
  EXPECT_TRUE(of(sure(64, 4), sure(64, 4)).compare().has_value());
}

TEST(AnswerComparison, TheSameAnswersAreAsGood) {
  EXPECT_EQ(ahead(doubtful(64), doubtful(64)), 0);
}

// All lost, and variety counts twice: -2 (ln 4 + 3 / 128).
TEST(AnswerComparison, ACollapsedNetworkIsFarBehind) {
  EXPECT_NEAR(ahead(sure(64, 1), sure(64, 4)), -2 * (std::log(4.0) + 3.0 / 128),
              1e-6);
}

TEST(AnswerComparison, LessDoubtIsAhead) {
  EXPECT_GT(ahead(sure(64, 4), doubtful(64)), 0.3);
  EXPECT_LT(ahead(doubtful(64), sure(64, 4)), -0.3);
  EXPECT_LT(ahead(even(64), sure(64, 4)), -1);
}

// Surer of three classes than the other is of four: the fourth is missed.
TEST(AnswerComparison, LostVarietyOutweighsLostDoubt) {
  const at::Tensor source = 0.9F * sure(192, 4) + 0.1F * even(192);
  const at::Tensor adapted = sure(192, 3);
  const Telling own = telling_of(adapted), given = telling_of(source);
  EXPECT_GT(own.information(), given.information());
  EXPECT_NEAR(
      ahead(adapted, source),
      own.information() - given.information() + (own.variety - given.variety),
      1e-6);
  EXPECT_LT(ahead(adapted, source), 0);
}

// A stream of one class, which the source model sees too: no collapse.
TEST(AnswerComparison, AStreamOfOneClassDecidesNothing) {
  const at::Tensor source = 0.9F * sure(64, 1) + 0.1F * even(64);
  EXPECT_TRUE(of(sure(64, 1), source).compare()->undecided);
}

TEST(AnswerComparison, AnotherOneClassThanTheSourceModelsIsACollapse) {
  const at::Tensor source = 0.9F * sure(64, 1) + 0.1F * even(64);
  const auto found = of(sure(64, 1, 2), source).compare();
  EXPECT_FALSE(found->undecided);
  EXPECT_EQ(found->ahead, -1);
}

// Where the source model calls nearly all the same, a network that tells more
// is ahead all the same.
TEST(AnswerComparison, ASourceModelOfOneClassCanBeBeaten) {
  const at::Tensor source = 0.9F * sure(64, 1) + 0.1F * even(64);
  EXPECT_GT(ahead(sure(64, 4), source), 1);
}

// 96 images of our own, on which the adapted network has lost much, and 96
// foreign ones that it spreads over the classes and the source model calls the
// same: all together it would be ahead.
TEST(AnswerComparison, TheKindThatIsClearlyKnownCountsAlone) {
  const at::Tensor adapted =
      at::cat({doubtful(96), 0.3F * sure(96, 4) + 0.7F * even(96)});
  const at::Tensor source =
      at::cat({0.9F * sure(96, 4) + 0.1F * even(96), sure(96, 1)});
  const auto found =
      of(adapted, source, at::cat({looks(96, 0), looks(96, 40)})).compare();
  EXPECT_EQ(found->images, 96);
  EXPECT_NEAR(found->ahead,
              ahead(doubtful(96), 0.9F * sure(96, 4) + 0.1F * even(96)), 1e-9);
}

TEST(AnswerComparison, TwoKindsThatAreKnownCountAlike) {
  const at::Tensor adapted = at::cat({sure(96, 4), doubtful(96)});
  const at::Tensor source = at::cat({doubtful(96), sure(96, 4)});
  const auto found =
      of(adapted, source, at::cat({looks(96, 0), looks(96, 40)})).compare();
  EXPECT_EQ(found->images, 192);
  EXPECT_NEAR(
      found->ahead,
      (ahead(sure(96, 4), doubtful(96)) + ahead(doubtful(96), sure(96, 4))) / 2,
      1e-9);
}

TEST(AnswerComparison, AnswersThatAreNoNumbersAreLeftOut) {
  at::Tensor adapted = sure(70, 4), source = sure(70, 4);
  adapted[3][1] = std::numeric_limits<float>::quiet_NaN();
  source[5][0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(of(adapted, source, looks(70, 0)).size(), 68);
}

TEST(AnswerComparison, KeepsTheLastImages) {
  AnswerComparison comparison = of(sure(200, 1), sure(200, 4));
  for (int i = 0; i < 4; ++i)
    comparison.add({}, sure(64, 4), sure(64, 4));
  EXPECT_EQ(comparison.size(), AnswerComparison::kAnswers);
  EXPECT_EQ(comparison.compare()->ahead, 0);
  comparison.forget();
  EXPECT_EQ(comparison.size(), 0);
}

AnswerComparison of_two_kinds() {
  AnswerComparison comparison = of(at::cat({doubtful(128), sure(128, 4)}),
                                   at::cat({sure(128, 4), doubtful(128)}),
                                   at::cat({looks(128, 0), looks(128, 40)}));
  comparison.compare();  // parts the looks
  return comparison;
}

// With a parting that is not made anew yet, though half of what it was made of
// is gone.
TEST(AnswerComparison, GoesIntoASnapshotAndBack) {
  AnswerComparison wanted = of_two_kinds();
  wanted.add(looks(100, 40), sure(100, 4), sure(100, 4));
  Snapshot snapshot;
  wanted.save("x.", snapshot);
  EXPECT_EQ(snapshot.tensors.size(), 5u);
  AnswerComparison found =
      AnswerComparison::read("x.", snapshot, kClasses, kChannels);
  EXPECT_EQ(found.compare()->ahead, wanted.compare()->ahead);

  Snapshot empty;
  AnswerComparison().save("x.", empty);
  EXPECT_EQ(AnswerComparison::read("x.", empty, kClasses, kChannels).size(), 0);
}

// 255 more leave the groups what they were, one more parts again.
TEST(AnswerComparison, LooksArePartedAnewWhenAsManyMoreHaveCome) {
  AnswerComparison comparison = of_two_kinds();
  const at::Tensor one_kind = looks(256, 0);
  comparison.add(one_kind.narrow(0, 0, 255), sure(255, 4), sure(255, 4));
  comparison.compare();
  Snapshot before, after;
  comparison.save("x.", before);
  EXPECT_EQ(before.tensors.count("x.groups"), 1u);
  comparison.add(one_kind.narrow(0, 255, 1), sure(1, 4), sure(1, 4));
  comparison.compare();
  comparison.save("x.", after);
  EXPECT_EQ(after.tensors.count("x.groups"), 0u);
}

TEST(AnswerComparison, WhatCouldNotHaveComeAboutIsRefused) {
  Snapshot good;
  of_two_kinds().save("x.", good);
  const auto refused = [&](const std::string& name, const at::Tensor& value) {
    Snapshot bad = good;
    bad.tensors.erase("x." + name);
    if (value.defined()) bad.tensors["x." + name] = value;
    EXPECT_THROW(AnswerComparison::read("x.", bad, kClasses, kChannels), Error)
        << name;
  };
  refused("adapted", {});
  refused("source", {});
  refused("source", sure(79, 4));
  refused("source", sure(256, 4).to(at::kDouble));
  refused("adapted", sure(256, 4).flatten());
  refused("adapted", 2 * sure(256, 4));
  refused("adapted", sure(256, 4) * std::numeric_limits<float>::quiet_NaN());
  refused("looks", {});
  refused("looks", at::zeros({256}));
  refused("looks", at::zeros({255, 20}));
  refused("looks", at::zeros({256, 1}));
  refused("groups", at::zeros({7}));
  refused("counts", {});
  refused("counts", at::full({2}, -1, at::kLong));
  refused("counts", at::zeros({1}, at::kLong));
  EXPECT_NO_THROW(AnswerComparison::read("x.", good, kClasses, kChannels));
  EXPECT_THROW(AnswerComparison::read("x.", good, kClasses + 1, kChannels),
               Error);
  EXPECT_THROW(AnswerComparison::read("x.", good, kClasses, 3), Error);
}

}  // namespace
}  // namespace sotta
