#include "eval/store_claims.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/free_port.h"

namespace sotta {
namespace {

using testing::expect_error;
using Answer = CellClaims::Answer;

class MemoryStore : public KeyStore {
 public:
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    std::string& value = values_[key];
    if (value == expected) value = desired;
    return value;
  }
  void set(const std::string& key, const std::string& value) override {
    values_[key] = value;
  }
  int64_t add(const std::string& key, int64_t amount) override {
    return counters_[key] += amount;
  }

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, int64_t> counters_;
};

class StoreClaimsTest : public ::testing::Test {
 protected:
  StoreClaims rank(int64_t rank, const std::string& nonce = "first",
                   int64_t restarts = 0) {
    RankOptions options;
    options.restarts = restarts;
    options.rank = rank;
    options.world = 3;
    options.lost_after = 10;
    return StoreClaims(store_, options, nonce, [this] { return now_; });
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  double now_ = 1000;
};

TEST_F(StoreClaimsTest, ACellHasOneOwner) {
  auto zero = rank(0);
  auto one = rank(1);
  EXPECT_EQ(zero.claim("a"), Answer::kMine);
  EXPECT_EQ(one.claim("a"), Answer::kTaken);
  EXPECT_EQ(one.claim("b"), Answer::kMine);
  EXPECT_EQ(zero.claim("b"), Answer::kTaken);
}

TEST_F(StoreClaimsTest, AFinishedCellIsDoneForAll) {
  auto zero = rank(0);
  auto one = rank(1);
  zero.claim("a");
  zero.finish("a");
  EXPECT_EQ(one.claim("a"), Answer::kDone);
  EXPECT_EQ(zero.claim("a"), Answer::kDone);
}

TEST_F(StoreClaimsTest, AFailedCellIsNobodysAndNotDone) {
  auto zero = rank(0);
  auto one = rank(1);
  one.claim("a");
  one.mark_failed("a");
  now_ += 11;
  EXPECT_EQ(zero.claim("a"), Answer::kFailed);
  EXPECT_EQ(one.claim("a"), Answer::kFailed);
}

TEST_F(StoreClaimsTest, ACellThatWasGivenBackIsFree) {
  auto zero = rank(0);
  auto one = rank(1);
  zero.claim("a");
  zero.release("a");
  EXPECT_EQ(one.claim("a"), Answer::kMine);
  EXPECT_EQ(zero.claim("a"), Answer::kTaken);
}

TEST_F(StoreClaimsTest, OnlyTheOwnerGivesBack) {
  auto zero = rank(0);
  auto one = rank(1);
  zero.claim("a");
  one.release("a");
  EXPECT_EQ(one.claim("a"), Answer::kTaken);
}

TEST_F(StoreClaimsTest, TheCellOfADeadRankIsTakenOverOnce) {
  auto zero = rank(0);
  auto one = rank(1);
  auto two = rank(2);
  one.beat();
  one.claim("a");
  EXPECT_EQ(zero.claim("a"), Answer::kTaken);
  EXPECT_EQ(two.claim("a"), Answer::kTaken);

  now_ += 11;
  EXPECT_EQ(zero.claim("a"), Answer::kMine);
  zero.beat();
  EXPECT_EQ(two.claim("a"), Answer::kTaken);
}

TEST_F(StoreClaimsTest, AFailureAfterATakeoverChangesNothing) {
  auto zero = rank(0);
  auto one = rank(1);
  one.beat();
  one.claim("a");
  zero.claim("a");
  now_ += 11;
  ASSERT_EQ(zero.claim("a"), Answer::kMine);
  zero.beat();

  one.mark_failed("a");
  EXPECT_EQ(one.claim("a"), Answer::kTaken);
  zero.finish("a");
  one.mark_failed("a");

  EXPECT_EQ(rank(2).claim("a"), Answer::kDone);
  EXPECT_EQ(rank(1, "second").claim("a"), Answer::kDone);
}

TEST_F(StoreClaimsTest, ARecordAfterATakeoverCounts) {
  auto zero = rank(0);
  auto one = rank(1);
  one.beat();
  one.claim("a");
  zero.claim("a");
  now_ += 11;
  ASSERT_EQ(zero.claim("a"), Answer::kMine);

  one.finish("a");
  zero.mark_failed("a");
  zero.release("a");

  EXPECT_EQ(rank(2).claim("a"), Answer::kDone);
}

TEST_F(StoreClaimsTest, ALivingRankKeepsItsCellHoweverLong) {
  auto zero = rank(0);
  auto one = rank(1);
  one.claim("a");
  for (int i = 0; i < 5; ++i) {
    one.beat();
    EXPECT_EQ(zero.claim("a"), Answer::kTaken);
    now_ += 9;
  }
}

TEST_F(StoreClaimsTest, ARestartedRankTakesItsOldCellsAtOnce) {
  auto before = rank(1, "first");
  before.claim("a");
  auto after = rank(1, "second");
  EXPECT_EQ(after.claim("a"), Answer::kMine);
}

TEST_F(StoreClaimsTest, IsAloneWhenAllOthersLeftOrDied) {
  auto zero = rank(0);
  auto one = rank(1);
  one.beat();
  EXPECT_FALSE(zero.alone());
  one.leave();
  EXPECT_FALSE(zero.alone());  // rank 2 may yet come
  now_ += 11;
  EXPECT_TRUE(zero.alone());
}

TEST_F(StoreClaimsTest, IsLostAfterTheTimeAndNotBefore) {
  auto zero = rank(0);
  auto one = rank(1);
  one.beat();
  one.claim("a");
  EXPECT_EQ(zero.claim("a"), Answer::kTaken);
  now_ += 10;
  EXPECT_EQ(zero.claim("a"), Answer::kTaken);
  now_ += 0.01;
  EXPECT_EQ(zero.claim("a"), Answer::kMine);
}

// As after torchrun's restart of all processes, where the store lives on.
TEST_F(StoreClaimsTest, AfterARestartAFailedCellIsTriedOnceMoreByOne) {
  auto zero = rank(0);
  auto one = rank(1);
  one.claim("a");
  one.mark_failed("a");
  EXPECT_EQ(zero.claim("a"), Answer::kFailed);

  auto new_zero = rank(0, "second");
  auto new_one = rank(1, "second");
  EXPECT_EQ(new_zero.claim("a"), Answer::kMine);
  EXPECT_EQ(new_one.claim("a"), Answer::kTaken);
  new_zero.mark_failed("a");
  EXPECT_EQ(new_zero.claim("a"), Answer::kFailed);
  EXPECT_EQ(new_one.claim("a"), Answer::kFailed);
}

TEST_F(StoreClaimsTest, ARestartThatTheLauncherCountsIsOneToo) {
  auto zero = rank(0);
  zero.claim("a");
  zero.mark_failed("a");
  auto late = rank(1);
  EXPECT_EQ(late.claim("a"), Answer::kFailed);
  auto restarted = rank(2, "second", /*restarts=*/1);  // never came before
  EXPECT_EQ(restarted.claim("a"), Answer::kMine);
}

TEST_F(StoreClaimsTest, AfterARestartWhatIsDoneStaysDone) {
  auto zero = rank(0);
  zero.claim("a");
  zero.finish("a");
  EXPECT_EQ(rank(0, "second").claim("a"), Answer::kDone);
  EXPECT_EQ(rank(1, "second").claim("a"), Answer::kDone);
}

TEST_F(StoreClaimsTest, ARankThatLeftAndCameBackIsThere) {
  auto zero = rank(0);
  auto one = rank(1);
  auto two = rank(2);
  one.leave();
  two.leave();
  EXPECT_TRUE(zero.alone());
  auto again = rank(1, "second");
  again.beat();
  EXPECT_FALSE(zero.alone());
  again.leave();
  EXPECT_TRUE(zero.alone());
}

TEST(MakeStoreClaims, RefusesARankOutsideTheWorld) {
  RankOptions options;
  options.rank = 2;
  options.world = 2;
  expect_error(ErrorKind::kInvalid, "rank: expected 0 to 1, got 2",
               [&] { make_store_claims(options); });
  options.rank = 0;
  options.port = 0;
  expect_error(ErrorKind::kInvalid, "port",
               [&] { make_store_claims(options); });
}

TEST(MakeStoreClaims, RefusesWhatIsOutOfRange) {
  const auto refuses = [](const std::string& message, const auto& change) {
    RankOptions options;
    options.world = 2;
    change(options);
    expect_error(ErrorKind::kInvalid, message,
                 [&] { make_store_claims(options); });
  };
  using O = RankOptions;
  refuses("rank: expected 0 to 1, got -1", [](O& o) { o.rank = -1; });
  refuses("rank: expected 0 to 1, got 2", [](O& o) { o.rank = 2; });
  refuses("rank: expected 0 to -1, got 0", [](O& o) { o.world = 0; });
  refuses("port: expected 1 to 65535, got 0", [](O& o) { o.port = 0; });
  refuses("port: expected 1 to 65535, got 65536", [](O& o) { o.port = 65536; });
  refuses("lost_after: expected more than 0, got 0",
          [](O& o) { o.lost_after = 0; });
}

// Claims of several processes in this one, by way of a real port.
class LivingClaims : public ::testing::Test {
 protected:
  RankOptions options(int64_t rank, double lost_after = 20) const {
    RankOptions options;
    options.rank = rank;
    options.world = 2;
    options.port = port_;
    options.lost_after = lost_after;
    return options;
  }

  // Whether LibTorch has a store.
  static bool is_possible() {
    RankOptions options;
    options.port = testing::free_port();
    try {
      make_store_claims(options);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      return false;
    }
  }

  const int64_t port_ = testing::free_port();
};

TEST_F(LivingClaims, ShareCellsAndSayGoodbye) {
  if (!is_possible()) GTEST_SKIP() << "LibTorch without c10d";
  auto zero = make_store_claims(options(0));
  auto one = make_store_claims(options(1));

  EXPECT_EQ(zero->claim("a"), Answer::kMine);
  EXPECT_EQ(one->claim("a"), Answer::kTaken);
  zero->finish("a");
  EXPECT_EQ(one->claim("a"), Answer::kDone);
  EXPECT_EQ(one->claim("b"), Answer::kMine);
  one->release("b");
  EXPECT_EQ(zero->claim("b"), Answer::kMine);
  zero->mark_failed("b");
  EXPECT_EQ(one->claim("b"), Answer::kFailed);

  one.reset();
  const auto store = connect_key_store(options(1));
  EXPECT_EQ(store->add("sotta/start/1", 0), 1);
  EXPECT_EQ(store->add("sotta/left/1", 0), 1);
  EXPECT_EQ(store->add("sotta/left/0", 0), 0);
}

TEST_F(LivingClaims, RankZeroStaysUntilTheOthersHaveLeft) {
  if (!is_possible()) GTEST_SKIP() << "LibTorch without c10d";
  auto zero = make_store_claims(options(0));
  auto one = make_store_claims(options(1));

  auto end = std::async(std::launch::async, [&] { zero.reset(); });
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(one->claim(std::to_string(i)), Answer::kMine);
  one.reset();
  end.get();
  EXPECT_EQ(zero, nullptr);
}

TEST_F(LivingClaims, RankZeroThatDoesNotHostWaitsForNobody) {
  if (!is_possible()) GTEST_SKIP() << "LibTorch without c10d";
  const auto agent = connect_key_store(options(0));
  const auto one = make_store_claims(options(1));
  RankOptions guest = options(0);
  guest.hosts = false;
  auto zero = make_store_claims(guest);

  EXPECT_EQ(zero->claim("a"), Answer::kMine);
  zero.reset();

  EXPECT_EQ(one->claim("a"), Answer::kTaken);
  EXPECT_EQ(agent->add("sotta/left/0", 0), 1);
}

TEST_F(LivingClaims, BeatAsLongAsTheyLive) {
  if (!is_possible()) GTEST_SKIP() << "LibTorch without c10d";
  const auto agent = connect_key_store(options(0));
  auto one = make_store_claims(options(1, /*lost_after=*/1));
  const auto beats = [&] { return agent->add("sotta/beat/1", 0); };

  int64_t asked = 0;
  while (beats() < 4 && asked < 1000000)
    ++asked;

  EXPECT_GE(beats(), 4);
  one.reset();
  const int64_t last = beats();
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(beats(), last);
}

}  // namespace
}  // namespace sotta
