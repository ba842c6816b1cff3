#include "tests/serve/lease_model.h"

#include <string>

#include <gtest/gtest.h>

namespace sotta {
namespace {

using testing::Bounds;
using testing::Enumeration;
using testing::Rules;

Bounds with_removal() {
  Bounds bounds;
  bounds.removals = 1;
  return bounds;
}

Bounds with_promotion() {
  Bounds bounds;
  bounds.windows = 2;
  bounds.claims = 2;
  bounds.crashes = 0;
  bounds.promotions = 1;
  return bounds;
}

std::string problem_under(const Rules& rules, const Bounds& bounds = {}) {
  Enumeration all(rules, bounds);
  all.run();
  return all.problem;
}

TEST(LeaseModel, NoSavedWindowHasTwoOwnersInAnyInterleaving) {
  Enumeration all{Rules(), Bounds()};

  all.run();

  EXPECT_EQ(all.problem, "");
  RecordProperty("states", static_cast<int>(all.states()));
  EXPECT_GT(all.states(), 100000U);
  EXPECT_TRUE(all.saved_by_both);  // in one history
  EXPECT_TRUE(all.was_fenced);     // a late write of an earlier owner
  EXPECT_TRUE(all.was_older);      // one of the owner itself
  EXPECT_TRUE(all.went_on);        // nobody came between two leases
}

TEST(LeaseModel, ARemovedStreamStaysRemovedInAnyInterleaving) {
  Enumeration all{Rules(), with_removal()};

  all.run();

  EXPECT_EQ(all.problem, "");
  RecordProperty("states", static_cast<int>(all.states()));
}

TEST(LeaseModel, NoDurableWindowIsLostByAPromotionInAnyInterleaving) {
  Enumeration all{Rules(), with_promotion()};

  all.run();

  EXPECT_EQ(all.problem, "");
  RecordProperty("states", static_cast<int>(all.states()));
  EXPECT_TRUE(all.saved_by_both);
  EXPECT_TRUE(all.went_back);        // a saved window was on no replica
  EXPECT_TRUE(all.was_saved_again);  // what was loaded
}

TEST(LeaseModel, WithoutTheFenceASavedWindowIsReplaced) {
  Rules rules;
  rules.checks_fence = false;
  EXPECT_NE(problem_under(rules), "");
}

TEST(LeaseModel, WithoutTheNumberALateSaveReplacesALaterOne) {
  Rules rules;
  rules.checks_number = false;
  EXPECT_NE(problem_under(rules), "");
}

TEST(LeaseModel, WithAStaleCopyASavedWindowIsReplaced) {
  Rules rules;
  rules.drops_stale_copies = false;
  EXPECT_NE(problem_under(rules), "");
}

TEST(LeaseModel, WithoutARaisedFenceARemovedWindowComesBack) {
  Rules rules;
  rules.raises_fence = false;
  EXPECT_EQ(problem_under(rules, with_removal()), "a removed window came back");
}

TEST(LeaseModel, WithAnUnsureCopyALateRemovalTakesLaterWindowsAlong) {
  Rules rules;
  rules.drops_unsure_copies = false;
  EXPECT_NE(problem_under(rules, with_removal()), "");
}

TEST(LeaseModel, WithClaimsThatAreTheSameAFenceCountsTwiceAfterAPromotion) {
  Rules rules;
  rules.claims_differ = false;
  EXPECT_NE(problem_under(rules, with_promotion()), "");
}

TEST(LeaseModel, WithoutWaitingForReplicasAPromotionLosesADurableWindow) {
  Rules rules;
  rules.waits_for_replicas = false;
  EXPECT_NE(problem_under(rules, with_promotion()), "");
}

TEST(LeaseModel, WithALoadThatCallsAllDurableAPromotionLosesAWindow) {
  Rules rules;
  rules.load_knows_durable = false;
  EXPECT_NE(problem_under(rules, with_promotion()), "");
}

}  // namespace
}  // namespace sotta
