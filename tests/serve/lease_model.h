#pragma once

// Every interleaving of two servers that serve one stream by the rules of
// lease_rules.h: each may crash, or pause for any time, between any two of its
// steps, and what it sends to the store may arrive late or go unanswered. The
// stream may be removed; or the store may be replaced by a replica that lacks
// the newest of it, where what is durable is on the replica (--min-replicas).

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "serve/fleet/lease_rules.h"

namespace sotta::testing {

// A window is a number that no other has: two servers that compute "the same"
// window make two. A character each, so that copies need no memory of their
// own.
using Windows = std::string;

inline bool begins_with(const Windows& all, const Windows& first) {
  return all.size() >= first.size() &&
         std::equal(first.begin(), first.end(), all.begin());
}

// What may be left out, to see that it is missed.
struct Rules {
  bool checks_fence = true;         // a save of an earlier owner is refused
  bool checks_number = true;        // a late save of the same owner is refused
  bool drops_stale_copies = true;   // who was not alone loads again
  bool raises_fence = true;         // by a removal
  bool drops_unsure_copies = true;  // of whose removal went unanswered
  bool claims_differ = true;        // also where a fence counts again
  bool waits_for_replicas = true;   // before a window is called durable
  bool load_knows_durable = true;   // what is loaded may be on no replica
};

// How much there may be of each in one history: enough for every fault below,
// and few enough for seconds.
struct Bounds {
  int windows = 3, crashes = 1, unanswered = 1;  // crashes of each server
  int64_t claims = 3;
  int removals = 0, promotions = 0;
};

struct Save {
  int server = 0;
  std::string claim;
  int64_t fence = 0, number = 0;
  Windows content;
};

struct Claim {
  std::string owner, address, name;
};

struct Removal {
  std::string claim;
  int64_t fence = 0;
  int windows = 0;  // that there were when it was asked for
};

struct Server {
  enum class State { kIdle, kLoading, kReady };
  State state = State::kIdle;
  int life = 0;       // a process that starts again is another owner
  std::string claim;  // of the last lease
  int64_t fence = 0;  // 0: there is no copy in memory
  int64_t number = 0;
  Windows copy;
  bool unsaved = false;
};

// What a store holds of the stream.
struct Store {
  LeaseRecord record;
  Windows saved;  // the newest snapshot
};

// All there is: the store and its replica, both servers, what is on its way.
struct World {
  Store store, replica;
  Windows durable;  // what a server has called so
  Server servers[2];
  // On their way, one of each kind at a time; answers are lost.
  std::optional<Save> late_save;
  std::optional<Claim> late_claim;
  std::optional<Removal> late_removal;
  int savers = 0;   // the servers that have saved, a bit each
  int removed = 0;  // windows up to this one
  int windows = 0, unanswered = 0, removals = 0, promotions = 0;

  std::string owner(int server) const {
    return std::string(server == 0 ? "a" : "b") +
           std::to_string(servers[server].life);
  }
  static std::string address(int server) { return server == 0 ? "A" : "B"; }
  std::string text() const;
};

// Different for different worlds: a byte for every number, all of them small.
inline std::string World::text() const {
  std::string all;
  const auto add = [&](auto value) { all += static_cast<char>(value); };
  const auto add_words = [&](const std::string& words) { all += words + ","; };
  const auto add_windows = [&](const Windows& some) {
    add(some.size());
    all += some;
  };
  const auto add_store = [&](const Store& one) {
    add_words(one.record.holder);
    add_words(one.record.claim);
    for (const int64_t value :
         {one.record.fence, one.record.number, one.record.durable})
      add(value);
    add_windows(one.saved);
  };
  add_store(store);
  add_store(replica);
  add_windows(durable);
  for (const Server& server : servers) {
    for (const int64_t value :
         {static_cast<int64_t>(server.state), static_cast<int64_t>(server.life),
          server.fence, server.number})
      add(value);
    add(server.unsaved);
    add_words(server.claim);
    add_windows(server.copy);
  }
  all += late_save ? 's' : '-';
  if (late_save) {
    add_words(late_save->claim);
    add(late_save->fence);
    add(late_save->number);
    add_windows(late_save->content);
  }
  add_words(late_claim ? late_claim->name : "");
  all += late_removal ? 'r' : '-';
  if (late_removal) {
    add_words(late_removal->claim);
    add(late_removal->fence);
    add(late_removal->windows);
  }
  for (const int value :
       {savers, removed, windows, unanswered, removals, promotions})
    add(value);
  return all;
}

class Enumeration {
 public:
  Enumeration(Rules rules, Bounds bounds) : rules_(rules), bounds_(bounds) {}

  // Until all states are seen, or one is wrong.
  void run() {
    std::vector<World> waiting = {World()};
    while (!waiting.empty() && problem.empty()) {
      const World world = std::move(waiting.back());
      waiting.pop_back();
      next_.clear();
      step(world);
      for (World& next : next_) {
        forget_what_is_fenced(next);
        if (seen_.insert(next.text()).second)
          waiting.push_back(std::move(next));
      }
    }
  }

  size_t states() const { return seen_.size(); }
  std::string problem;
  bool was_fenced = false, was_older = false, went_on = false;
  bool saved_by_both = false, went_back = false, was_saved_again = false;

 private:
  void step(const World& world) {
    for (int server = 0; server < 2; ++server) {
      claim(world, server);
      load(world, server);
      compute(world, server);
      save(world, server);
      release(world, server);
      remove(world, server);
      crash(world, server);
    }
    lapse(world);
    arrive(world);
    replicate(world);
    promote(world);
  }

  // The fence never falls but by a promotion, which leaves nothing on its way.
  void forget_what_is_fenced(World& world) {
    const int64_t fence = world.store.record.fence;
    if (rules_.checks_fence && world.late_save &&
        world.late_save->fence < fence) {
      was_fenced = true;
      world.late_save.reset();
    }
    if (world.late_removal && world.late_removal->fence < fence)
      world.late_removal.reset();
    if (fence >= bounds_.claims) world.late_claim.reset();
  }

  bool has_replica() const { return bounds_.promotions > 0; }

  // The lease may lapse whenever nobody renews it; a pause may last so long.
  void lapse(World world) {
    LeaseRecord& record = world.store.record;
    if (record.holder.empty()) return;
    record.holder.clear();
    record.address.clear();
    next_.push_back(std::move(world));
  }

  void claim(const World& before, int server) {
    if (before.store.record.fence >= bounds_.claims) return;
    if (before.servers[server].state == Server::State::kLoading) return;
    World world = before;
    Server& self = world.servers[server];
    const Claim claim{world.owner(server), World::address(server),
                      name_claim(world, server)};
    const ClaimReply reply = apply(world, claim);
    Standing standing = standing_after(reply, self.claim, self.fence);
    if (!rules_.drops_stale_copies && standing == Standing::kStale &&
        self.fence > 0)
      standing = Standing::kCurrent;
    if (standing == Standing::kCurrent) {
      self.claim = claim.name;
      self.fence = reply.fence;
      self.number = std::max(self.number, reply.number);
      went_on = true;
    } else {
      drop(self);
    }
    if (standing == Standing::kStale) {
      self.state = Server::State::kLoading;
      self.claim = claim.name;
      self.fence = reply.fence;
      self.number = reply.number;
    }
    next_.push_back(std::move(world));
    if (before.late_claim) return;
    World late = before;
    late.late_claim = claim;
    next_.push_back(std::move(late));
  }

  // With the fence it is a claim's own: that counts twice by promotions alone.
  std::string name_claim(const World& world, int server) const {
    return world.owner(server) +
           std::string(rules_.claims_differ ? world.promotions : 0, '+');
  }

  static ClaimReply apply(World& world, const Claim& claim) {
    return claim_lease(world.store.record, claim.owner, claim.address,
                       claim.name);
  }

  // What replicas are not known to have is saved again.
  void load(World world, int server) {
    Server& self = world.servers[server];
    if (self.state != Server::State::kLoading) return;
    const LeaseRecord& record = world.store.record;
    self.state = Server::State::kReady;
    self.copy = world.store.saved;
    self.unsaved = has_replica() && rules_.load_knows_durable &&
                   record.durable < record.number;
    was_saved_again = was_saved_again || self.unsaved;
    if (!self.unsaved) call_durable(world, self.copy);
    next_.push_back(std::move(world));
  }

  // Who loads late may see less than another server has saved meanwhile, and
  // tells no more than that: it is fenced.
  static void call_durable(World& world, const Windows& copy) {
    if (copy.size() > world.durable.size()) world.durable = copy;
  }

  void compute(World world, int server) {
    Server& self = world.servers[server];
    if (self.state != Server::State::kReady || world.windows >= bounds_.windows)
      return;
    self.copy += static_cast<char>(++world.windows);
    self.unsaved = true;
    next_.push_back(std::move(world));
  }

  // Answered at once; applied, and the answer lost; or on its way for long.
  void save(const World& before, int server) {
    const Server& self = before.servers[server];
    if (self.state != Server::State::kReady || !self.unsaved) return;
    const Save save{server, self.claim, self.fence, self.number + 1, self.copy};
    World answered = before;
    if (apply(answered, save) == SaveOutcome::kSaved) {
      answered.servers[server].number = save.number;
      finish_save(answered, save);
    } else {
      drop(answered.servers[server]);
      next_.push_back(std::move(answered));
    }
    if (before.unanswered >= bounds_.unanswered) return;
    World unanswered = before;
    ++unanswered.unanswered;
    ++unanswered.servers[server].number;
    World late = unanswered;
    apply(unanswered, save);
    next_.push_back(std::move(unanswered));
    if (late.late_save) return;
    late.late_save = save;
    next_.push_back(std::move(late));
  }

  // A snapshot that was taken is durable, where replicas count once they have
  // it: that is noted after, if nothing comes between.
  void finish_save(const World& saved, const Save& save) {
    if (has_replica() && rules_.waits_for_replicas &&
        saved.unanswered < bounds_.unanswered) {
      next_.push_back(saved);  // they are missing: it is still unsaved
      ++next_.back().unanswered;
    }
    World durable = saved;
    durable.servers[save.server].unsaved = false;
    call_durable(durable, save.content);
    if (has_replica() && rules_.waits_for_replicas)
      durable.replica = durable.store;
    next_.push_back(durable);
    if (!has_replica()) return;
    note_durable(durable.store.record, save.claim, save.fence, save.number);
    next_.push_back(std::move(durable));
  }

  void release(World world, int server) {
    Server& self = world.servers[server];
    if (self.state != Server::State::kReady || self.unsaved) return;
    release_lease(world.store.record, world.owner(server), self.fence);
    drop(self);
    next_.push_back(std::move(world));
  }

  void remove(const World& before, int server) {
    const Server& self = before.servers[server];
    if (self.state != Server::State::kReady ||
        before.removals >= bounds_.removals)
      return;
    const Removal removal{self.claim, self.fence, before.windows};
    World world = before;
    ++world.removals;
    World late = world;
    apply(world, removal);
    drop(world.servers[server]);
    next_.push_back(std::move(world));
    if (rules_.drops_unsure_copies) drop(late.servers[server]);
    late.late_removal = removal;
    next_.push_back(std::move(late));
  }

  void crash(World world, int server) {
    Server& self = world.servers[server];
    if (self.life >= bounds_.crashes) return;
    drop(self);
    ++self.life;
    next_.push_back(std::move(world));
  }

  void arrive(const World& before) {
    if (before.late_save) {
      World world = before;
      world.late_save.reset();
      apply(world, *before.late_save);
      next_.push_back(std::move(world));
    }
    if (before.late_claim && before.store.record.fence < bounds_.claims) {
      World world = before;
      world.late_claim.reset();
      apply(world, *before.late_claim);
      next_.push_back(std::move(world));
    }
    if (before.late_removal) {
      World world = before;
      world.late_removal.reset();
      apply(world, *before.late_removal);
      next_.push_back(std::move(world));
    }
  }

  void replicate(World world) {
    if (!has_replica()) return;
    world.replica = world.store;
    next_.push_back(std::move(world));
  }

  // What was on its way to the store that is gone, is gone with it.
  void promote(World world) {
    if (world.promotions >= bounds_.promotions) return;
    ++world.promotions;
    went_back = went_back || world.replica.saved != world.store.saved;
    world.store = world.replica;
    world.late_save.reset();
    world.late_claim.reset();
    if (!begins_with(world.store.saved, world.durable))
      problem = "a durable window was on no replica";
    next_.push_back(std::move(world));
  }

  // The store takes a snapshot or refuses it. One that it takes must go on from
  // the one before: else a saved window has two owners, or is lost.
  SaveOutcome apply(World& world, const Save& save) {
    LeaseRecord& record = world.store.record;
    SaveOutcome outcome =
        save_snapshot(record, save.claim, save.fence, save.number);
    was_fenced = was_fenced || outcome == SaveOutcome::kFenced;
    was_older = was_older || outcome == SaveOutcome::kOlder;
    if ((outcome == SaveOutcome::kFenced && !rules_.checks_fence) ||
        (outcome == SaveOutcome::kOlder && !rules_.checks_number)) {
      record.number = save.number;
      outcome = SaveOutcome::kSaved;
    }
    if (outcome != SaveOutcome::kSaved) return outcome;
    if (!begins_with(save.content, world.store.saved))
      problem = "a saved window was replaced";
    if (!begins_with(save.content, world.durable))
      problem = "a durable window was lost";
    if (!save.content.empty() && save.content.front() <= world.removed)
      problem = "a removed window came back";
    world.savers |= 1 << save.server;
    saved_by_both = saved_by_both || world.savers == 3;
    world.store.saved = save.content;
    return outcome;
  }

  void apply(World& world, const Removal& removal) {
    LeaseRecord& record = world.store.record;
    if (!remove_stream(record, removal.claim, removal.fence)) return;
    if (!rules_.raises_fence) --record.fence;
    if (!world.durable.empty() && world.durable.back() > removal.windows)
      problem = "a removal took a later window along";
    world.removed = removal.windows;
    world.store.saved.clear();
    world.durable.clear();
  }

  static void drop(Server& server) {
    const int life = server.life;
    server = Server();
    server.life = life;
  }

  const Rules rules_;
  const Bounds bounds_;
  std::unordered_set<std::string> seen_;
  std::vector<World> next_;
};

}  // namespace sotta::testing
