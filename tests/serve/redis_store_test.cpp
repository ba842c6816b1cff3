#include "serve/fleet/redis_store.h"

#include <gtest/gtest.h>

#include "serve/streams/served_stream.h"
#include "serve/streams/stream_table.h"
#include "tests/serve/expect_refusal.h"
#include "tests/serve/fake_redis.h"
#include "tests/serve/redis_fleet.h"
#include "tests/serve/small_stream.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::comes_true;
using testing::expect_error;
using testing::expect_refusal;
using testing::expect_same_state;
using testing::small_requests;

class Redis : public testing::WithFleet {};

std::unique_ptr<ServedStream> open_small(
    std::unique_ptr<StreamStorage> storage) {
  ServedStreamOptions options;
  options.identity = "small";
  options.save_interval = testing::kSmallWindow;
  return std::make_unique<ServedStream>(testing::small_adapter("sotta"),
                                        std::move(storage), options);
}

TEST_F(Redis, AStreamGoesOnAtAnotherServerWhenItIsReleased) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  const auto requests = small_requests({7, 16, 3}, 60);
  const auto quiet = testing::SmallStream{testing::TempDir() / "s"}.open();
  StreamTable first(one, "m", open_small, {});
  StreamTable second(other, "m", open_small, {});

  for (size_t i = 0; i < requests.size(); ++i) {
    StreamTable& table = i % 2 == 0 ? first : second;
    table.infer("s", requests[i]);
    ASSERT_EQ(table.save_all(), 0U);
    for (int tries = 0;
         one.counts().held + other.counts().held > 0 ||
         RedisClient(redis->address())
                 .run(RedisCommand{"EXISTS", redis_key("m", "s") + ":lease"})
                 .integer != 0;
         ++tries) {
      ASSERT_LT(tries, 1000);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    quiet->infer(requests[i]);
    quiet->finish();
  }

  second.use("s", false, [&](ServedStream& stream) {
    expect_same_state(stream.state().adapter, quiet->state().adapter);
    EXPECT_EQ(stream.status().durable_seq,
              static_cast<int64_t>(requests.size()));
    // Stored answers have come along.
    EXPECT_EQ(stream.infer(requests[2]).answer,
              quiet->infer(requests[2]).answer);
  });
}

TEST_F(Redis, WhoHasNotTheLeaseIsToldWhoHas) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  const auto held = one.open("m", "s");
  held->claim(true);

  try {
    other.open("m", "s")->claim(true);
    FAIL();
  } catch (const StreamElsewhere& elsewhere) {
    EXPECT_EQ(elsewhere.address, "http://one:1");
    EXPECT_GT(elsewhere.lapses_ms, 0);
    EXPECT_LE(elsewhere.lapses_ms, 5000);
  }
}

TEST_F(Redis, ALateSaveIsRefusedByItsFence) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  const auto late = one.open("m", "s"), next = other.open("m", "s");
  late->claim(true);
  late->save(state_of(3), false);
  lapse("s");
  next->claim(false);
  EXPECT_EQ(next->load()->state.next_seq, 3);
  next->save(state_of(5), false);

  EXPECT_THROW(late->save(state_of(4), false), StreamElsewhere);

  EXPECT_TRUE(late->is_lost());
  EXPECT_EQ(one.counts().fenced, 1);
  EXPECT_EQ(one.counts().lost, 1);
  EXPECT_EQ(next->load()->state.next_seq, 5);
  EXPECT_THROW(late->claim(true), StreamElsewhere);
}

TEST_F(Redis, AFencedStreamIsDroppedFromTheTable) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  StreamTable first(one, "m", open_small, {});
  StreamTable second(other, "m", open_small, {});
  const auto requests = small_requests({16}, 48);
  EXPECT_TRUE(first.infer("s", requests[0]).has_work);
  lapse("s");
  second.infer("s", requests[0]);  // the first was not saved
  second.finish("s");

  first.finish("s");  // too late

  EXPECT_EQ(first.resident(), 0U);
  EXPECT_EQ(one.counts().fenced, 1);
  EXPECT_EQ(first.storage_problem(), "");
  EXPECT_THROW(first.infer("s", requests[1]), StreamElsewhere);
  EXPECT_EQ(second.infer("s", requests[1]).result.durable_seq, 1);
}

TEST_F(Redis, AServerThatWasAloneGoesOnWithoutLoading) {
  FleetOptions fleet = options("http://one:1");
  fleet.lease_ms = 90;  // renewed every 30 ms, which notices that it lapsed
  const auto lapse_and_notice = [&] {
    lapse("s");
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  };
  const RedisStore one(fleet), other = store("http://other:1");
  const auto storage = one.open("m", "s"), another = other.open("m", "s");
  EXPECT_FALSE(storage->claim(true));
  lapse_and_notice();
  EXPECT_TRUE(storage->claim(true));

  lapse_and_notice();
  EXPECT_FALSE(another->claim(true));
  lapse_and_notice();

  EXPECT_FALSE(storage->claim(true));  // somebody was there between
}

TEST_F(Redis, AServerThatStartsAgainTakesItsStreamsAtOnce) {
  const RedisStore before = store("http://one:1");
  const auto old = before.open("m", "s");
  old->claim(true);
  RedisClient(redis->address())  // as if it had been gone for long enough
      .run(RedisCommand{"DEL", "sotta:server:{http://one:1}"});

  const RedisStore after = store("http://one:1");
  const auto storage = after.open("m", "s");
  EXPECT_FALSE(storage->claim(true));

  EXPECT_THROW(old->save(state_of(1), false), StreamElsewhere);
}

TEST_F(Redis, ListsTheFleetsStreams) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  const auto a = one.open("m", "a"), b = other.open("m", "b/\xC3\xBC");
  a->claim(true);
  a->save(state_of(3), false);
  StreamState frozen = state_of(4);
  frozen.frozen = true;
  b->claim(true);
  b->save(frozen, false);
  const auto unsaved = one.open("m", "c");
  unsaved->claim(true);

  const auto all = other.list("m", "", 10);

  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].address, "http://one:1");
  EXPECT_EQ(all[0].durable_seq, 3);
  EXPECT_FALSE(all[0].frozen);
  EXPECT_EQ(all[1].name, "b/\xC3\xBC");
  EXPECT_TRUE(all[1].frozen);
  EXPECT_EQ(other.list("m", "a", 10).size(), 1U);
  EXPECT_EQ(other.list("n", "", 10).size(), 0U);
}

TEST_F(Redis, AStreamThatIsRemovedIsGone) {
  const RedisStore one = store("http://one:1");
  const auto a = one.open("m", "a");
  a->claim(true);
  a->save(state_of(3), false);

  a->remove();

  EXPECT_TRUE(one.list("m", "", 10).empty());
  expect_refusal(HttpStatus::kNotFound, "none of this name",
                 [&] { one.open("m", "a")->claim(false); });
  StreamTable table(one, "m", open_small, {});
  expect_refusal(HttpStatus::kNotFound, "none of this name", [&] {
    table.use("a", /*create=*/false, [](ServedStream&) {});
  });
  expect_refusal(HttpStatus::kNotFound, "none of this name",
                 [&] { table.remove("a"); });
  EXPECT_EQ(table.size(), 0U);
}

TEST_F(Redis, ADamagedSnapshotIsPutAsideForTheOneBefore) {
  const RedisStore one = store("http://one:1");
  const auto a = one.open("m", "a");
  a->claim(true);
  a->save(state_of(3), false);
  const int64_t newest = a->save(state_of(4), false);
  RedisClient client(redis->address());
  const std::string key = redis_key("m", "a") + ":snapshots";
  client.run(RedisCommand{"HSET", key, std::to_string(newest), "no snapshot"});

  const auto loaded = a->load();

  EXPECT_EQ(loaded->state.next_seq, 3);
  EXPECT_EQ(loaded->damaged.size(), 1U);
  EXPECT_EQ(a->snapshots().size(), 1U);
  EXPECT_EQ(a->save(state_of(5), true), newest + 1);
  EXPECT_TRUE(a->snapshots().back().kept);
  EXPECT_EQ(a->read(newest + 1).next_seq, 5);
  expect_error(ErrorKind::kNotFound, "none of number", [&] { a->read(99); });
}

std::vector<int64_t> numbers(const StreamStorage& storage) {
  std::vector<int64_t> found;
  for (const SnapshotEntry& entry : storage.snapshots())
    found.push_back(entry.number);
  return found;
}

TEST_F(Redis, AStateThatIsSavedAgainPushesNoOtherOut) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  const auto first = one.open("m", "a");
  first->claim(true);
  for (int64_t seq = 1; seq <= 3; ++seq)
    first->save(state_of(seq), false);
  EXPECT_EQ(numbers(*first), (std::vector<int64_t>{2, 3}));
  lapse("a");

  const auto a = other.open("m", "a");
  a->claim(false);
  StreamState same = a->load()->state;
  for (int turn = 0; turn < 3; ++turn) {
    same.frozen = !same.frozen;
    ++same.next_seq;
    a->save(same, false);
  }
  EXPECT_EQ(numbers(*a), (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(a->load()->state.next_seq, 6);

  a->save(same, /*keep=*/true);
  a->save(same, false);
  EXPECT_EQ(numbers(*a), (std::vector<int64_t>{2, 7, 8}));
}

TEST_F(Redis, KeepsTheLastTwoThatWereLeftAndNoOlderOnesBesides) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  const auto a = one.open("m", "a");
  a->claim(true);

  for (int64_t seq = 1; seq <= 19; ++seq) {
    a->save(state_of(seq), false);
    if (seq <= 3) a->retain(seq);
  }
  a->retain(99);  // not there

  EXPECT_EQ(numbers(*a), (std::vector<int64_t>{2, 3, 18, 19}));
  EXPECT_EQ(a->read(3).next_seq, 3);
  lapse("a");
  other.open("m", "a")->claim(true);
  a->retain(19);  // is another's
  EXPECT_FALSE(a->snapshots().back().left);
}

TEST_F(Redis, AStateThatWasLeftIsNotTakenForOneThatIsRepeated) {
  const RedisStore one = store("http://one:1");
  const auto a = one.open("m", "a");
  a->claim(true);
  a->save(state_of(1), false);
  a->save(state_of(2), false);

  a->retain(2);
  a->save(state_of(2), false);

  EXPECT_EQ(numbers(*a), (std::vector<int64_t>{1, 2, 3}));
}

TEST_F(Redis, ASnapshotThatTooFewReplicasHaveIsNotDurable) {
  FleetOptions fleet = options("http://one:1");
  fleet.min_replicas = 1;
  const RedisStore one(fleet);
  const auto requests = small_requests({16}, 16);
  auto storage = one.open("m", "s");
  storage->claim(true);
  const auto stream = open_small(std::move(storage));

  stream->infer(requests[0]);
  stream->finish();

  EXPECT_EQ(stream->status().durable_seq, 0);
  EXPECT_NE(stream->status().problem.find("--min-replicas expects 1"),
            std::string::npos);
}

TEST_F(Redis, ALoadedSnapshotIsDurableOnceReplicasHaveIt) {
  FleetOptions fleet = options("http://one:1");
  fleet.min_replicas = 1;
  const RedisStore one(fleet);
  const auto open = [&] {
    auto storage = one.open("m", "s");
    storage->claim(true);
    return open_small(std::move(storage));
  };
  auto stream = open();
  stream->infer(small_requests({16}, 16)[0]);
  stream->finish();

  stream.reset();
  stream = open();

  EXPECT_EQ(stream->status().next_seq, 1);
  EXPECT_EQ(stream->status().durable_seq, 0);
  EXPECT_NE(stream->status().problem.find("--min-replicas expects 1"),
            std::string::npos);
  EXPECT_EQ(one.list("m", "", 1)[0].next_seq, 1);
  EXPECT_EQ(one.list("m", "", 1)[0].durable_seq, 0);

  const testing::RedisServer replica(
      {"--replicaof", "127.0.0.1 " + std::to_string(redis->port)});
  for (int tries = 0; !stream->save_all() && tries < 60; ++tries) {
  }
  EXPECT_EQ(stream->status().durable_seq, 1);
  EXPECT_EQ(one.list("m", "", 1)[0].durable_seq, 1);
  const int64_t saved = stream->status().snapshot;
  stream.reset();
  stream = open();
  EXPECT_EQ(stream->status().durable_seq, 1);
  EXPECT_EQ(stream->status().snapshot, saved);  // not saved once more
}

TEST_F(Redis, ACopyThatWasNeverSavedOutlivesItsLease) {
  FleetOptions fleet = options("http://one:1");
  fleet.lease_ms = 90;
  const RedisStore one(fleet), other = store("http://other:1");
  StreamTable table(one, "m", open_small, {});
  table.infer("s", small_requests({3}, 3)[0]);
  const auto next_seq = [&] {
    int64_t next = 0;
    lapse("s");
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    table.use("s", /*create=*/false,
              [&](ServedStream& stream) { next = stream.status().next_seq; });
    return next;
  };

  EXPECT_EQ(next_seq(), 1);

  // Not so one that was removed elsewhere.
  lapse("s");
  const auto storage = other.open("m", "s");
  storage->claim(true);
  storage->remove();
  expect_refusal(HttpStatus::kNotFound, "none of this name", next_seq);
}

TEST_F(Redis, WhereItsMemoryIsFullStreamsCanBeRemoved) {
  const RedisStore one = store("http://one:1"), other = store("http://other:1");
  const auto held = one.open("m", "held");
  held->claim(true);
  held->save(state_of(3), false);
  {
    const auto released = other.open("m", "released");
    released->claim(true);
    released->save(state_of(3), false);
  }
  lapse("released");
  RedisClient admin(redis->address());
  admin.run(RedisCommand{"CONFIG", "SET", "maxmemory", "1"});

  expect_refusal(HttpStatus::kUnavailable, "memory is full",
                 [&] { one.open("m", "new")->claim(true); });
  expect_error(ErrorKind::kIo, "memory is full",
               [&] { held->save(state_of(4), false); });
  held->remove();
  StreamTable(one, "m", open_small, {}).remove("released");

  EXPECT_TRUE(one.list("m", "", 10).empty());
  EXPECT_FALSE(one.counts().store_away);
}

// What a Redis answers to probe() and to a server that registers, and `answer`
// to any script of a stream.
testing::FakeRedis::Answer answers_scripts(const std::string& answer) {
  return [answer](const RedisCommand& command) {
    if (command[0] == "INFO") return std::string("$0\r\n\r\n");
    const bool is_of_stream =
        command[0] == "EVAL" && command[3].find("sotta:{") == 0;
    return is_of_stream ? answer : std::string(":1\r\n");
  };
}

TEST_F(Redis, AnAnswerOfAnotherKindIsNoSuccess) {
  for (const char* answer : {"$-1\r\n", "+OK\r\n", "*0\r\n"}) {
    const testing::FakeRedis fake(answers_scripts(answer));
    FleetOptions fleet;
    fleet.redis = fake.address();
    const RedisStore one(fleet);
    const auto storage = one.open("m", "s");

    expect_error(ErrorKind::kIo, "another kind",
                 [&] { storage->save(state_of(3), false); });
    expect_error(ErrorKind::kIo, "another kind", [&] { storage->remove(); });
    expect_refusal(HttpStatus::kUnavailable, "", [&] { storage->claim(true); });
  }
}

TEST_F(Redis, ARedirectionOfAClusterCountsAsAway) {
  const testing::FakeRedis fake(answers_scripts("-MOVED 1 1.2.3.4:5\r\n"));
  FleetOptions fleet;
  fleet.redis = fake.address();
  const RedisStore one(fleet);
  const auto storage = one.open("m", "s");

  expect_error(ErrorKind::kIo, "Redis Cluster",
               [&] { storage->save(state_of(3), false); });

  EXPECT_TRUE(one.counts().store_away);
}

TEST_F(Redis, WhereItIsAwayStreamsAreRefusedAndGoOnAfterwards) {
  const RedisStore one = store("http://one:1");
  StreamTable table(one, "m", open_small, {});
  const auto requests = small_requests({16}, 64);
  table.infer("s", requests[0]);
  redis->kill();

  table.finish("s");

  expect_refusal(HttpStatus::kUnavailable, "cannot be reached",
                 [&] { table.infer("s", requests[1]); });
  EXPECT_TRUE(one.counts().store_away);
  redis->start();  // without what it had
  EXPECT_TRUE(comes_true([&] { return !one.counts().store_away; }));
  // The stream begins again, once it is found to be gone.
  int64_t next_seq = 0;
  for (int tries = 0; next_seq == 0 && tries < 100; ++tries) {
    try {
      next_seq = table.infer("s", requests[0]).result.next_seq;
    } catch (const RequestError&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  EXPECT_EQ(next_seq, 1);
}

}  // namespace
}  // namespace sotta
