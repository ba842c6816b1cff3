#include "serve/fleet/redis_url.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

TEST(RedisUrl, HasHostPortAndDatabase) {
  const RedisAddress address = parse_redis_url("redis://example.org:7000/3");

  EXPECT_EQ(address.host, "example.org");
  EXPECT_EQ(address.port, 7000);
  EXPECT_EQ(address.database, 3);
  EXPECT_EQ(address.text(), "redis://example.org:7000/3");
}

TEST(RedisUrl, LeavesOutWhatIsUsual) {
  EXPECT_EQ(parse_redis_url("redis://h").text(), "redis://h:6379/0");
  EXPECT_EQ(parse_redis_url("redis://[::1]:5/").text(), "redis://[::1]:5/0");
}

TEST(RedisUrl, ItsTextHasNoSecret) {
  const RedisAddress address = parse_redis_url("redis://ann:p%40ss:x@h:1/2");

  EXPECT_EQ(address.user, "ann");
  EXPECT_EQ(address.password, "p@ss:x");
  EXPECT_EQ(address.text(), "redis://h:1/2");
}

TEST(RedisUrl, WhatIsWrongIsRefusedWithoutTheSecret) {
  for (const std::string wrong :
       {"redis://", "redis://h:0", "redis://h:65536", "redis://h:x",
        "redis://h:1/x", "redis://h:1/-1", "redis://a:%zz@h", "redis://:1",
        "redis://ann:secret@:1", "redis://ann:secret@h:1/1/1"}) {
    try {
      parse_redis_url(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalid) << wrong;
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
    }
  }
}

TEST(RedisUrl, TlsIsRefusedWithAWayOut) {
  try {
    parse_redis_url("rediss://h");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("stunnel"), std::string::npos);
  }
}

TEST(RedisUrl, AFolderIsNone) {
  EXPECT_FALSE(is_redis_url("sotta-state"));
  EXPECT_FALSE(is_redis_url("/redis://x"));
  EXPECT_TRUE(is_redis_url("redis://x"));
  EXPECT_TRUE(is_redis_url("rediss://x"));
}

}  // namespace
}  // namespace sotta
