#include "serve/fleet/lease_keeper.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "sotta/core/log.h"

#include "tests/serve/redis_fleet.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::comes_true;
using testing::expect_error;

class LeaseKeeperTest : public testing::WithFleet {};

TEST_F(LeaseKeeperTest, AStreamThatWasLostWhileItWasIdleIsHeldNoMore) {
  FleetOptions fleet = options("http://one:1");
  fleet.lease_ms = 90;
  const RedisStore one(fleet), other = store("http://other:1");
  const auto idle = one.open("m", "s"), kept = one.open("m", "t"),
             next = other.open("m", "s");
  idle->claim(true);
  kept->claim(true);
  lapse("s");
  next->claim(true);

  EXPECT_TRUE(comes_true([&] { return one.counts().held == 1; }));

  EXPECT_FALSE(one.holds("m", "s"));
  EXPECT_TRUE(other.holds("m", "s"));
}

// It tries again five times a second, and renews each time.
TEST_F(LeaseKeeperTest, SaysOnceThatRedisIsAway) {
  std::atomic<int> said{0};
  set_log_sink([&](LogLevel, const std::string& text) {
    said += text.find("cannot be reached") != std::string::npos;
  });
  {
    FleetOptions fleet = options("http://one:1");
    fleet.lease_ms = 90;
    const RedisStore one(fleet);
    const auto held = one.open("m", "s");
    held->claim(true);
    redis->kill();
    EXPECT_TRUE(comes_true([&] { return said > 0; }));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_LE(said, 2);
  }
  set_log_sink({});
}

// Of a Redis that hangs each request says the same.
TEST_F(LeaseKeeperTest, SaysThatRedisIsAwayWhereAClaimFindsItOut) {
  std::atomic<int> said{0};
  set_log_sink([&](LogLevel, const std::string& text) {
    said += text.find("does not answer") != std::string::npos;
  });
  {
    const RedisStore one = store("http://one:1");
    redis->hang();
    EXPECT_ANY_THROW(one.open("m", "s")->claim(true));
    EXPECT_TRUE(comes_true([&] { return said > 0; }));
    redis->kill();
  }
  set_log_sink({});
}

class LeaseKeeperAddress : public LeaseKeeperTest {
 protected:
  void SetUp() override {
    LeaseKeeperTest::SetUp();
    set_log_sink([this](LogLevel, const std::string& text) {
      const std::lock_guard<std::mutex> lock(mutex);
      said += text;
    });
  }
  void TearDown() override { set_log_sink({}); }

  bool warns() {
    const std::lock_guard<std::mutex> lock(mutex);
    return said.find("--advertise http://one:1: another server that runs") !=
           std::string::npos;
  }
  std::string registered() const {
    return RedisClient(redis->address())
        .run(RedisCommand{"GET", "sotta:server:{http://one:1}"})
        .text;
  }
  void register_another(const std::string& owner, int milliseconds) const {
    RedisClient(redis->address())
        .run(RedisCommand{"SET", "sotta:server:{http://one:1}", owner, "PX",
                          std::to_string(milliseconds)});
  }

  std::mutex mutex;
  std::string said;
};

TEST_F(LeaseKeeperAddress, IsRefusedWhereAnotherServerThatRunsHasIt) {
  FleetOptions fleet = options("http://one:1");
  fleet.lease_ms = 3000;
  const RedisStore one(fleet);
  const std::string owner = registered();

  expect_error(ErrorKind::kInvalid, "another server that runs has http://one:1",
               [&] { RedisStore{fleet}; });

  EXPECT_EQ(registered(), owner);
  fleet.advertise = "http://two:1";
  EXPECT_NO_THROW(RedisStore{fleet});
}

TEST_F(LeaseKeeperAddress, IsTakenOverFromAPredecessorThatMissesARenewal) {
  FleetOptions fleet = options("http://one:1");
  fleet.lease_ms = 400;
  register_another("killed", 400);

  const RedisStore one(fleet);

  EXPECT_NE(registered(), "killed");
  EXPECT_NE(registered(), "");
  EXPECT_FALSE(warns());
}

TEST_F(LeaseKeeperAddress, IsFreeWhenItsServerHasEnded) {
  { const RedisStore one = store("http://one:1"); }

  EXPECT_EQ(registered(), "");
}

TEST_F(LeaseKeeperAddress, AServerWhoseAddressWasTakenWarns) {
  FleetOptions fleet = options("http://one:1");
  fleet.lease_ms = 90;
  const RedisStore one(fleet);
  EXPECT_FALSE(warns());

  register_another("next", 100000);

  EXPECT_TRUE(comes_true([&] { return warns(); }));
  EXPECT_EQ(registered(), "next");
}

}  // namespace
}  // namespace sotta
