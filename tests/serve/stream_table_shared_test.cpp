#include <string>

#include "sotta/core/log.h"

#include "serve/request_error.h"
#include "serve/streams/stream_table.h"
#include "tests/serve/expect_refusal.h"
#include "tests/serve/redis_fleet.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::small_adapter;
using testing::small_requests;

class SharedStreamTable : public testing::WithFleet {
 protected:
  static StreamTable table(const RedisStore& store,
                           const std::string& identity) {
    return StreamTable(store, "m",
                       [identity](std::unique_ptr<StreamStorage> storage) {
                         ServedStreamOptions options;
                         options.identity = identity;
                         return std::make_unique<ServedStream>(
                             small_adapter("sotta"), std::move(storage),
                             options);
                       },
                       {});
  }
};

// Servers that share a store forget what is with another, not this.
TEST_F(SharedStreamTable, AStreamOfAnotherMethodStaysInTroubleAndIsToldOnce) {
  const RedisStore one = store("http://one:1");
  {
    StreamTable before = table(one, "small");
    before.infer("a", small_requests({4}, 4)[0]);
    before.save_all();
  }
  int said = 0;
  set_log_sink([&](LogLevel, const std::string&) { ++said; });
  StreamTable after = table(one, "another");

  for (int tries = 0; tries < 3; ++tries)
    testing::expect_refusal(HttpStatus::kConflict, "another model", [&] {
      after.use("a", true, [](ServedStream&) {});
    });

  set_log_sink({});
  EXPECT_EQ(said, 1);
  EXPECT_EQ(after.census().in_trouble, 1);

  // As another server removes it; this one's lease may not have been given back
  // yet.
  const std::string key = redis_key("m", "a");
  RedisClient(redis->address())
      .run(RedisCommand{"DEL", key + ":lease", key + ":stream",
                        key + ":snapshots"});
  testing::expect_refusal(HttpStatus::kNotFound, "a",
                          [&] { after.use("a", false, [](ServedStream&) {}); });
  EXPECT_EQ(after.census().in_trouble, 0) << "it is gone";
}

}  // namespace
}  // namespace sotta
