// Every interleaving of two servers that serve one stream by the rules of
// lease_rules.h: each may crash, or pause for any time, between any two of its
// steps, and what it sends to the store may arrive late or go unanswered.

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "serve/fleet/lease_rules.h"

namespace sotta {
namespace {

// A window is a number that no other has: two servers that compute "the same"
// window make two.
using Windows = std::vector<int>;

bool begins_with(const Windows& all, const Windows& first) {
  return all.size() >= first.size() &&
         std::equal(first.begin(), first.end(), all.begin());
}

// What may be left out, to see that it is missed.
struct Rules {
  bool checks_fence = true;        // a save of an earlier owner is refused
  bool checks_number = true;       // a late save of the same owner is refused
  bool drops_stale_copies = true;  // who was not alone loads again
};

struct Save {
  int server = 0;
  std::string owner;
  int64_t fence = 0, number = 0;
  Windows content;
};

struct Server {
  enum class State { kIdle, kLoading, kReady };
  State state = State::kIdle;
  int life = 0;       // a process that starts again is another owner
  int64_t fence = 0;  // of the last lease; 0: there is no copy in memory
  int64_t number = 0;
  Windows copy;
  bool unsaved = false;
};

// All there is: the store, both servers, what is on its way.
struct World {
  LeaseRecord record;
  Windows saved;    // the newest snapshot
  Windows durable;  // what a server has called so
  Server servers[2];
  std::vector<Save> late_saves;
  std::vector<int> late_claims;  // by server; answers are lost
  int windows = 0, crashes = 0, unanswered = 0;

  std::string owner(int server) const {
    return std::string(server == 0 ? "a" : "b") +
           std::to_string(servers[server].life);
  }
  std::string text() const;
};

std::string World::text() const {
  std::string all;
  const auto add = [&](const auto& value) {
    all += std::to_string(value) + ",";
  };
  const auto add_windows = [&](const Windows& some) {
    for (const int window : some)
      add(window);
    all += ";";
  };
  all += record.holder + "," + record.owner + ",";
  add(record.fence);
  add(record.number);
  add_windows(saved);
  add_windows(durable);
  for (const Server& server : servers) {
    add(static_cast<int>(server.state));
    add(server.life);
    add(server.fence);
    add(server.number);
    add(static_cast<int>(server.unsaved));
    add_windows(server.copy);
  }
  for (const Save& save : late_saves) {
    all += save.owner + ",";
    add(save.fence);
    add(save.number);
    add_windows(save.content);
  }
  for (const int claim : late_claims)
    add(claim);
  add(windows);
  add(crashes);
  add(unanswered);
  return all;
}

class Enumeration {
 public:
  explicit Enumeration(Rules rules) : rules_(rules) {}

  // Until all states are seen, or one is wrong.
  void run() {
    std::vector<World> waiting = {World()};
    while (!waiting.empty() && problem.empty()) {
      const World world = std::move(waiting.back());
      waiting.pop_back();
      next_.clear();
      step(world);
      for (World& next : next_)
        if (seen_.insert(next.text()).second)
          waiting.push_back(std::move(next));
    }
  }

  size_t states() const { return seen_.size(); }
  std::string problem;
  bool was_fenced = false, was_older = false, went_on = false;
  bool saved_by_both = false;

 private:
  // Enough for every fault below, and few enough for seconds.
  static constexpr int kMostWindows = 3, kMostCrashes = 1, kMostUnanswered = 1;
  static constexpr int64_t kMostClaims = 3;
  static constexpr size_t kMostLate = 1;  // of each kind

  void step(const World& world) {
    for (int server = 0; server < 2; ++server) {
      claim(world, server);
      load(world, server);
      compute(world, server);
      save(world, server);
      release(world, server);
      crash(world, server);
    }
    lapse(world);
    arrive(world);
  }

  // The lease may lapse whenever nobody renews it; a pause may last so long.
  void lapse(World world) {
    if (world.record.holder.empty()) return;
    world.record.holder.clear();
    world.record.address.clear();
    next_.push_back(world);
  }

  void claim(const World& before, int server) {
    if (before.record.fence >= kMostClaims) return;
    if (before.servers[server].state == Server::State::kLoading) return;
    World world = before;
    Server& self = world.servers[server];
    const ClaimReply reply =
        claim_lease(world.record, world.owner(server), server == 0 ? "A" : "B");
    Standing standing = standing_after(reply, world.owner(server), self.fence);
    if (!rules_.drops_stale_copies && standing == Standing::kStale &&
        self.fence > 0)
      standing = Standing::kCurrent;
    if (standing == Standing::kCurrent) {
      self.fence = reply.fence;
      self.number = std::max(self.number, reply.number);
      went_on = true;
    } else {
      drop(self);
    }
    if (standing == Standing::kStale) {
      self.state = Server::State::kLoading;
      self.fence = reply.fence;
      self.number = reply.number;
    }
    next_.push_back(std::move(world));
    if (before.late_claims.size() >= kMostLate) return;
    World late = before;
    late.late_claims.push_back(server);
    next_.push_back(std::move(late));
  }

  void load(World world, int server) {
    Server& self = world.servers[server];
    if (self.state != Server::State::kLoading) return;
    self.state = Server::State::kReady;
    self.copy = world.saved;
    next_.push_back(world);
  }

  void compute(World world, int server) {
    Server& self = world.servers[server];
    if (self.state != Server::State::kReady || world.windows >= kMostWindows)
      return;
    self.copy.push_back(++world.windows);
    self.unsaved = true;
    next_.push_back(world);
  }

  // Answered at once; applied, and the answer lost; or on its way for long.
  void save(const World& before, int server) {
    const Server& self = before.servers[server];
    if (self.state != Server::State::kReady || !self.unsaved) return;
    Save save{server, before.owner(server), self.fence, self.number + 1,
              self.copy};
    World answered = before;
    const SaveOutcome outcome = apply(answered, save);
    Server& then = answered.servers[server];
    if (outcome == SaveOutcome::kSaved) {
      then.number = save.number;
      then.unsaved = false;
      answered.durable = then.copy;
    } else {
      drop(then);
    }
    next_.push_back(answered);

    if (before.unanswered >= kMostUnanswered) return;
    World unanswered = before;
    ++unanswered.unanswered;
    ++unanswered.servers[server].number;
    World late = unanswered;
    apply(unanswered, save);
    next_.push_back(std::move(unanswered));
    if (late.late_saves.size() >= kMostLate) return;
    late.late_saves.push_back(std::move(save));
    next_.push_back(std::move(late));
  }

  void release(World world, int server) {
    Server& self = world.servers[server];
    if (self.state != Server::State::kReady || self.unsaved) return;
    release_lease(world.record, world.owner(server), self.fence);
    drop(self);
    next_.push_back(world);
  }

  void crash(World world, int server) {
    if (world.crashes >= kMostCrashes) return;
    ++world.crashes;
    drop(world.servers[server]);
    ++world.servers[server].life;
    next_.push_back(world);
  }

  void arrive(const World& before) {
    for (size_t i = 0; i < before.late_saves.size(); ++i) {
      World world = before;
      const Save save = world.late_saves[i];
      world.late_saves.erase(world.late_saves.begin() +
                             static_cast<std::ptrdiff_t>(i));
      apply(world, save);
      next_.push_back(std::move(world));
    }
    for (size_t i = 0; i < before.late_claims.size(); ++i) {
      World world = before;
      const int server = world.late_claims[i];
      world.late_claims.erase(world.late_claims.begin() +
                              static_cast<std::ptrdiff_t>(i));
      if (world.record.fence < kMostClaims)
        claim_lease(world.record, world.owner(server), server == 0 ? "A" : "B");
      next_.push_back(std::move(world));
    }
  }

  // The store takes a snapshot or refuses it. One that it takes must go on from
  // the one before: else a saved window has two owners, or is lost.
  SaveOutcome apply(World& world, const Save& save) {
    LeaseRecord& record = world.record;
    SaveOutcome outcome =
        save_snapshot(record, save.owner, save.fence, save.number);
    was_fenced = was_fenced || outcome == SaveOutcome::kFenced;
    was_older = was_older || outcome == SaveOutcome::kOlder;
    if ((outcome == SaveOutcome::kFenced && !rules_.checks_fence) ||
        (outcome == SaveOutcome::kOlder && !rules_.checks_number)) {
      record.number = save.number;
      outcome = SaveOutcome::kSaved;
    }
    if (outcome != SaveOutcome::kSaved) return outcome;
    if (!begins_with(save.content, world.saved))
      problem = "a saved window was replaced";
    if (!begins_with(save.content, world.durable))
      problem = "a durable window was lost";
    if (saver_ != save.server) saved_by_both = saver_ >= 0;
    saver_ = save.server;
    world.saved = save.content;
    return outcome;
  }

  static void drop(Server& server) {
    const int life = server.life;
    server = Server();
    server.life = life;
  }

  const Rules rules_;
  std::unordered_set<std::string> seen_;
  std::vector<World> next_;
  int saver_ = -1;
};

std::string problem_under(Rules rules) {
  Enumeration all(rules);
  all.run();
  return all.problem;
}

TEST(LeaseModel, NoSavedWindowHasTwoOwnersInAnyInterleaving) {
  Enumeration all{Rules()};

  all.run();

  EXPECT_EQ(all.problem, "");
  RecordProperty("states", static_cast<int>(all.states()));
  EXPECT_GT(all.states(), 100000U);
  EXPECT_TRUE(all.saved_by_both);
  EXPECT_TRUE(all.was_fenced);  // a late write of an earlier owner
  EXPECT_TRUE(all.was_older);   // one of the owner itself
  EXPECT_TRUE(all.went_on);     // nobody came between two leases
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

}  // namespace
}  // namespace sotta
