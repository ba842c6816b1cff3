// Scripts in a real Redis against the rules that the model test goes by.

#include "serve/fleet/lease_scripts.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "sotta/core/rng.h"

#include "serve/fleet/lease_rules.h"
#include "tests/serve/redis_server.h"

namespace sotta {
namespace {

class LeaseScripts : public testing::WithRedis {
 protected:
  void SetUp() override {
    testing::WithRedis::SetUp();
    if (!IsSkipped()) client = std::make_unique<RedisClient>(redis->address());
  }

  RedisReply eval(const char* script, const std::vector<std::string>& keys,
                  const std::vector<std::string>& arguments) {
    RedisCommand command = {"EVAL", script, std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    return client->run(command);
  }

  void compare_claim(const std::string& owner, const std::string& address) {
    const std::string claim = owner + "-" + std::to_string(++claims);
    const ClaimReply wanted = claim_lease(record, owner, address, claim);
    if (wanted.taken) claim_of[owner] = claim;
    const auto got = eval(kClaimScript, {"l", "s"},
                          {owner, address, "100000", "1", claim, ""})
                         .list;
    ASSERT_EQ(got.at(0).integer, wanted.taken ? 1 : 0);
    if (!wanted.taken) {
      EXPECT_EQ(got.at(1).text, wanted.address);
      return;
    }
    EXPECT_EQ(got.at(1).integer, wanted.fence);
    EXPECT_EQ(got.at(2).integer, wanted.fence_before);
    EXPECT_EQ(got.at(3).text, wanted.claim_before);
    EXPECT_EQ(got.at(4).integer, wanted.number);
  }

  void compare_save(const std::string& owner, int64_t fence, int64_t number) {
    const std::string claim = claim_of[owner];
    const auto wanted = save_snapshot(record, claim, fence, number);
    const auto got =
        eval(kSaveScript, {"l", "s", "n"},
             {claim, std::to_string(fence), std::to_string(number), "100000",
              std::to_string(number), "bytes", "7", "0", owner, ""});
    EXPECT_EQ(got.integer, static_cast<int64_t>(wanted));
  }

  void compare_held(const std::string& owner, int64_t fence, bool release) {
    const bool wanted = release ? release_lease(record, owner, fence)
                                : renew_lease(record, owner, fence);
    const auto got = release ? eval(kReleaseScript, {"l", "s"},
                                    {owner, std::to_string(fence)})
                             : eval(kRenewScript, {"l", "s"},
                                    {owner, std::to_string(fence), "100000"});
    EXPECT_EQ(got.integer, wanted ? 1 : 0);
  }

  void compare_end(const std::string& address) {
    const bool wanted = end_lease(record, address);
    EXPECT_EQ(eval(kEndScript, {"l"}, {address, "200000"}).integer,
              wanted ? 1 : 0);
  }

  void compare_durable(const std::string& owner, int64_t fence,
                       int64_t number) {
    const std::string claim = claim_of[owner];
    const bool wanted = note_durable(record, claim, fence, number);
    const auto got =
        eval(kDurableScript, {"s"},
             {claim, std::to_string(fence), std::to_string(number), "7"});
    EXPECT_EQ(got.integer, wanted ? 1 : 0);
  }

  void compare_remove(const std::string& owner, int64_t fence) {
    const std::string claim = claim_of[owner];
    const bool wanted = remove_stream(record, claim, fence);
    const auto got =
        eval(kRemoveScript, {"l", "s", "n"}, {claim, std::to_string(fence)});
    EXPECT_EQ(got.integer, wanted ? 0 : 1);
  }

  // What both hold when a step was taken.
  void compare_records() {
    const auto lease = client->run(RedisCommand{"HMGET", "l", "owner"}).list;
    const auto stream =
        client->run(RedisCommand{"HMGET", "s", "fence", "number", "durable"})
            .list;
    EXPECT_EQ(lease.at(0).text, record.holder);
    EXPECT_EQ(number_in(stream.at(0)), record.fence);
    EXPECT_EQ(number_in(stream.at(1)), record.number);
    EXPECT_EQ(number_in(stream.at(2)), record.durable);
  }

  std::unique_ptr<RedisClient> client;
  LeaseRecord record;
  std::map<std::string, std::string> claim_of;  // the last of each owner
  int claims = 0;
};

TEST_F(LeaseScripts, DoWhatTheRulesDo) {
  Rng rng(7);
  const std::string owners[] = {"a0", "a1", "b0"};
  const std::string addresses[] = {"A", "A", "B"};
  int64_t most = 0;                        // snapshots without a removal
  compare_claim(owners[0], addresses[0]);  // nothing comes before a claim
  for (int i = 0; i < 3000; ++i) {
    const auto who = rng.below(3);
    const int64_t fence = record.fence - rng.below(2);
    switch (rng.below(8)) {
      case 0:
        compare_claim(owners[who], addresses[who]);
        break;
      case 1:
        compare_save(owners[who], fence, record.number + rng.below(3) - 1);
        break;
      case 2:
        compare_held(owners[who], fence, /*release=*/false);
        break;
      case 3:
        compare_held(owners[who], fence, /*release=*/true);
        break;
      case 4:
        compare_durable(owners[who], fence, record.number);
        break;
      case 5:
        if (i % 8 == 0) compare_remove(owners[who], fence);
        break;
      case 6:
        if (i % 4 == 0) compare_end(addresses[who]);
        break;
      default:  // the lease lapses
        client->run(RedisCommand{"DEL", "l"});
        record.holder = record.address = "";
    }
    compare_records();
    most = std::max(most, record.number);
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "step " << i;
  }
  EXPECT_GT(record.fence, 100);
  EXPECT_GT(most, 3);
}

TEST_F(LeaseScripts, ALeaseLapsesByItself) {
  eval(kClaimScript, {"l", "s"}, {"a", "A", "30", "1", "c", ""});
  std::this_thread::sleep_for(std::chrono::milliseconds(60));

  const auto got =
      eval(kClaimScript, {"l", "s"}, {"b", "B", "30", "1", "c", ""}).list;

  EXPECT_EQ(got.at(0).integer, 1);
  EXPECT_EQ(got.at(1).integer, 2);
}

TEST_F(LeaseScripts, ALeaseIsEndedWhereItHasMissedARenewalAlone) {
  const auto claim = [&](const std::string& owner, const std::string& address) {
    return eval(kClaimScript, {"l", "s"},
                {owner, address, "4000", "1", owner, ""})
        .list.at(0)
        .integer;
  };
  const auto end = [&](const std::string& address, const std::string& left) {
    return eval(kEndScript, {"l"}, {address, left}).integer;
  };
  EXPECT_EQ(end("A", "4000"), 0);  // there is none
  EXPECT_EQ(claim("a", "A"), 1);

  EXPECT_EQ(end("A", "2000"), 0);  // it is renewed
  EXPECT_EQ(end("B", "4000"), 0);  // another's
  EXPECT_EQ(claim("b", "B"), 0);
  EXPECT_EQ(end("A", "4000"), 1);
  EXPECT_EQ(claim("b", "B"), 1);
}

TEST_F(LeaseScripts, AStreamThatIsNotThereIsMadeOnRequestAlone) {
  EXPECT_EQ(eval(kClaimScript, {"l", "s"}, {"a", "A", "30", "0", "c", ""})
                .list.at(0)
                .integer,
            2);
  EXPECT_EQ(client->run(RedisCommand{"EXISTS", "l", "s"}).integer, 0);
}

TEST_F(LeaseScripts, ARemovedStreamKeepsItsFence) {
  eval(kClaimScript, {"l", "s"}, {"a", "A", "1000", "1", "c", ""});
  eval(kSaveScript, {"l", "s", "n"},
       {"c", "1", "1", "1000", "1", "bytes", "7", "0", "a", ""});

  EXPECT_EQ(eval(kRemoveScript, {"l", "s", "n"}, {"c", "1"}).integer, 0);

  // A save that was on its way makes nothing of it again.
  EXPECT_EQ(eval(kSaveScript, {"l", "s", "n"},
                 {"c", "1", "2", "1000", "2", "bytes", "7", "0", "a", ""})
                .integer,
            1);
  EXPECT_EQ(client->run(RedisCommand{"EXISTS", "l", "n"}).integer, 0);
  const auto got =
      eval(kClaimScript, {"l", "s"}, {"a", "A", "30", "1", "c", ""}).list;
  EXPECT_EQ(got.at(1).integer, 3);
  EXPECT_EQ(got.at(4).integer, 0);
}

TEST_F(LeaseScripts, ASaveRemovesTheSnapshotsThatItNames) {
  eval(kClaimScript, {"l", "s"}, {"a", "A", "1000", "1", "c", ""});
  const auto save = [&](const std::string& number, const std::string& field,
                        const std::string& content, const std::string& old) {
    return eval(kSaveScript, {"l", "s", "n"},
                {"c", "1", number, "1000", field, "bytes", "7", "0", "a",
                 content, old, old + "-kept"})
        .integer;
  };
  EXPECT_EQ(save("1", "1", "1 x", "0"), 0);
  EXPECT_EQ(save("2", "2-kept", "", "0"), 0);
  EXPECT_EQ(client->run(RedisCommand{"HGET", "s", "content"}).text, "1 x");

  EXPECT_EQ(save("2", "2", "2 y", "1"), 2) << "removes nothing";
  EXPECT_EQ(client->run(RedisCommand{"HLEN", "n"}).integer, 2);

  EXPECT_EQ(save("3", "3", "3 z", "1"), 0);
  EXPECT_EQ(client->run(RedisCommand{"HLEN", "n"}).integer, 2);
  EXPECT_EQ(client->run(RedisCommand{"HEXISTS", "n", "1"}).integer, 0);
  EXPECT_EQ(save("4", "4", "4 z", "2"), 0);
  EXPECT_EQ(client->run(RedisCommand{"HEXISTS", "n", "2-kept"}).integer, 0);
  EXPECT_EQ(client->run(RedisCommand{"HGET", "s", "content"}).text, "4 z");
}

}  // namespace
}  // namespace sotta
