// When a server uses its Redis, when it waits for it, and when it refuses.

#include "serve/fleet/redis_client.h"

#include <atomic>

#include <gtest/gtest.h>

#include "tests/serve/expect_refusal.h"
#include "tests/serve/fake_redis.h"
#include "tests/serve/redis_fleet.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::comes_true;
using testing::expect_error;
using testing::expect_refusal;

class RedisClientTest : public testing::WithFleet {};

TEST_F(RedisClientTest, AsksForUserAndPassword) {
  RedisClient admin(redis->address());
  admin.run(RedisCommand{"ACL", "SETUSER", "sotta", "on", ">p@ss", "~sotta:*",
                         "+eval", "+wait", "+info", "+ping", "+select",
                         "+@read", "+@write"});
  admin.run(RedisCommand{"ACL", "SETUSER", "default", "off"});
  expect_error(ErrorKind::kIo, "refuses this user",
               [&] { store("http://one:1"); });

  FleetOptions fleet = options("http://one:1");
  fleet.redis.user = "sotta";
  fleet.redis.password = "p@ss";
  const RedisStore one(fleet);
  const auto a = one.open("m", "a");
  a->claim(true);
  a->save(state_of(3), false);

  EXPECT_EQ(one.list("m", "", 10).size(), 1U);
  a->remove();
}

TEST_F(RedisClientTest, AClusterIsRefusedAtTheStart) {
  const testing::RedisServer node({"--cluster-enabled", "yes"});
  FleetOptions fleet;
  fleet.redis = node.address();

  expect_error(ErrorKind::kUnsupported, "Redis Cluster",
               [&] { RedisStore{fleet}; });
}

TEST_F(RedisClientTest, AReplicaIsNotUsedUntilItIsPromoted) {
  const testing::RedisServer replica(
      {"--replicaof", "127.0.0.1 " + std::to_string(redis->port)});
  FleetOptions fleet;
  fleet.redis = replica.address();

  const RedisStore one(fleet);

  EXPECT_EQ(one.problem(), "is a replica, expected a primary");
  RedisClient(replica.address()).run(RedisCommand{"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(comes_true([&] { return !one.counts().store_away; }));
  EXPECT_EQ(one.problem(), "");
}

TEST_F(RedisClientTest, APolicyThatDropsKeysIsRefusedAtTheStart) {
  RedisClient admin(redis->address());
  admin.run(RedisCommand{"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
  store("http://one:1");  // there is no limit
  admin.run(RedisCommand{"CONFIG", "SET", "maxmemory", "100mb"});

  expect_error(ErrorKind::kUnsupported, "maxmemory-policy volatile-ttl",
               [&] { store("http://one:1"); });

  admin.run(RedisCommand{"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  store("http://one:1");
}

TEST_F(RedisClientTest, AUserWithoutTheRightsIsRefusedAtTheStart) {
  RedisClient admin(redis->address());
  FleetOptions fleet = options("http://one:1");
  fleet.redis.user = "low";
  fleet.redis.password = "p";
  const std::vector<RedisCommand> lacking = {
      {"~sotta:*", "+info", "+@read", "+@write", "+wait"},
      {"~sotta:*", "+info", "+@read", "+eval", "+wait"},
      {"~other:*", "+info", "+@read", "+@write", "+eval", "+wait"},
      {"~sotta:*", "+info", "+@read", "+@write", "+eval"}};
  for (const RedisCommand& rights : lacking) {
    RedisCommand command = {"ACL", "SETUSER", "low", "reset", "on", ">p"};
    command.insert(command.end(), rights.begin(), rights.end());
    admin.run(command);

    expect_error(ErrorKind::kIo, "refuses", [&] { RedisStore{fleet}; });
  }
}

TEST_F(RedisClientTest, AServerMayStartBeforeItsRedis) {
  redis->kill();

  const RedisStore one = store("http://one:1");

  EXPECT_EQ(one.problem().find("cannot be reached"), 0U);
  const auto storage = one.open("m", "s");
  expect_refusal(HttpStatus::kUnavailable, "cannot be reached",
                 [&] { storage->claim(true); });
  redis->start();
  EXPECT_TRUE(comes_true([&] { return !one.counts().store_away; }));
  EXPECT_FALSE(storage->claim(true));
  EXPECT_EQ(storage->save(state_of(1), false), 1);
}

TEST_F(RedisClientTest, WhatIsWrongWithItIsSaidWhenItIsFoundLater) {
  std::atomic<const char*> info{"-LOADING the dataset\r\n"};
  const testing::FakeRedis fake([&](const RedisCommand& command) {
    return std::string(command[0] == "INFO" ? info.load() : ":1\r\n");
  });
  FleetOptions fleet;
  fleet.redis = fake.address();
  const RedisStore one(fleet);
  const auto says = [&](const char* part) {
    return comes_true(
        [&] { return one.problem().find(part) != std::string::npos; });
  };
  EXPECT_TRUE(says("LOADING"));

  info = "-NOAUTH Authentication required.\r\n";
  EXPECT_TRUE(says("refuses this user"));
  info = "$23\r\n#\r\nredis_mode:cluster\r\n\r\n";
  EXPECT_TRUE(says("Redis Cluster"));

  EXPECT_TRUE(one.counts().store_away);
  info = "$0\r\n\r\n";
  EXPECT_TRUE(comes_true([&] { return !one.counts().store_away; }));
}

}  // namespace
}  // namespace sotta
