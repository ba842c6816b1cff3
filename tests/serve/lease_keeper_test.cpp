#include "serve/fleet/lease_keeper.h"

#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "sotta/core/log.h"

#include "tests/serve/redis_fleet.h"

namespace sotta {
namespace {

using testing::comes_true;

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

TEST_F(LeaseKeeperTest, TwoServersAtOneAddressAreWarned) {
  std::mutex mutex;
  std::string said;
  set_log_sink([&](LogLevel, const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex);
    said += text;
  });
  const auto warns = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return said.find("--advertise http://one:1: another server that runs") !=
           std::string::npos;
  };
  FleetOptions fleet = options("http://one:1");
  fleet.lease_ms = 90;
  {
    const RedisStore before(fleet);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  {
    const RedisStore after(fleet);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(warns());  // the other one has ended

    const RedisStore same(fleet);
    EXPECT_TRUE(comes_true(warns));
  }
  set_log_sink({});
}

}  // namespace
}  // namespace sotta
