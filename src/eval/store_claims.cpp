#include "eval/store_claims.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <sstream>
#include <thread>
#include <utility>

#include <unistd.h>

#include "sotta/core/error.h"

#include "record/run_identity.h"

namespace sotta {
namespace {

constexpr char kFree[] = "free";
constexpr char kDone[] = "done";
constexpr char kFailed[] = "failed ";

std::string cell_key(const std::string& identity) {
  return "sotta/cell/" + short_identity(identity);
}

std::string beat_key(int64_t rank) {
  return "sotta/beat/" + std::to_string(rank);
}

std::string start_key(int64_t rank) {
  return "sotta/start/" + std::to_string(rank);
}

std::string left_key(int64_t rank) {
  return "sotta/left/" + std::to_string(rank);
}

bool is_failed(const std::string& owner) {
  return owner.rfind(kFailed, 0) == 0;
}

double steady_seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string process_nonce() {
  return std::to_string(getpid()) + "-" + std::to_string(steady_seconds());
}

// Claims with a thread that shows signs of life.
class LivingClaims : public CellClaims {
 public:
  explicit LivingClaims(const RankOptions& options)
      : options_(options),
        claims_(connect_key_store(options), options, process_nonce(),
                steady_seconds),
        pulse_([this] { live(); }) {}

  ~LivingClaims() override {
    if (options_.rank == 0 && options_.hosts) wait_for_others();
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    pulse_.join();
    attempt([&] { claims_.leave(); });
  }

  Answer claim(const std::string& identity) override {
    return claims_.claim(identity);
  }
  void finish(const std::string& identity) override {
    claims_.finish(identity);
  }
  void mark_failed(const std::string& identity) override {
    claims_.mark_failed(identity);
  }
  void release(const std::string& identity) override {
    claims_.release(identity);
  }

 private:
  std::chrono::duration<double> interval() const {
    return std::chrono::duration<double>(options_.lost_after / 10);
  }

  void live() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      if (!attempt([&] { claims_.beat(); })) return;
      wake_.wait_for(lock, interval());
    }
  }

  // The store ends with this process.
  void wait_for_others() {
    bool alone = false;
    while (!alone && attempt([&] { alone = claims_.alone(); }))
      if (!alone) std::this_thread::sleep_for(interval() / 4);
  }

  // False if the store is gone: then there is no one left to tell.
  template <class Call>
  static bool attempt(const Call& call) {
    try {
      call();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  RankOptions options_;
  StoreClaims claims_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread pulse_;
};

}  // namespace

StoreClaims::StoreClaims(std::shared_ptr<KeyStore> store,
                         const RankOptions& options, std::string nonce,
                         std::function<double()> now)
    : store_(std::move(store)),
      options_(options),
      mine_("run " + std::to_string(options.rank) + " " + nonce),
      start_(std::max(store_->add(start_key(options.rank), 1),
                      options.restarts + 1)),
      now_(std::move(now)) {}

CellClaims::Answer StoreClaims::claim(const std::string& identity) {
  const std::string key = cell_key(identity);
  std::string owner = store_->compare_set(key, "", mine_);
  if (owner != mine_ && abandoned(owner))
    owner = store_->compare_set(key, owner, mine_);
  if (owner == mine_) return Answer::kMine;
  if (owner == kDone) return Answer::kDone;
  return is_failed(owner) ? Answer::kFailed : Answer::kTaken;
}

// Whoever else is at it by now: the record is there.
void StoreClaims::finish(const std::string& identity) {
  store_->set(cell_key(identity), kDone);
}

// Only while it is ours. Taken for dead, this process may come after another
// that has recorded the cell, or is at it: their outcome counts.
void StoreClaims::mark_failed(const std::string& identity) {
  store_->compare_set(cell_key(identity), mine_,
                      kFailed + std::to_string(start_));
}

void StoreClaims::release(const std::string& identity) {
  store_->compare_set(cell_key(identity), mine_, kFree);
}

void StoreClaims::beat() {
  store_->add(beat_key(options_.rank), 1);
}

void StoreClaims::leave() {
  store_->add(left_key(options_.rank), 1);
}

bool StoreClaims::alone() {
  bool alone = true;
  for (int64_t rank = 0; rank < options_.world; ++rank)
    if (rank != options_.rank && !left(rank) && !lost(rank)) alone = false;
  return alone;
}

// One that left and was started again is back.
bool StoreClaims::left(int64_t rank) {
  const int64_t farewells = store_->add(left_key(rank), 0);
  return farewells > 0 && farewells >= store_->add(start_key(rank), 0);
}

bool StoreClaims::abandoned(const std::string& owner) {
  if (owner == kFree) return true;
  if (owner == kDone) return false;
  std::istringstream in(owner);
  std::string state;
  int64_t number = -1;
  in >> state >> number;
  if (is_failed(owner)) return number < start_;
  const int64_t rank = number;
  // An earlier process of this rank is no more.
  return rank == options_.rank || lost(rank);
}

bool StoreClaims::lost(int64_t rank) {
  const int64_t count = store_->add(beat_key(rank), 0);
  const double now = now_();
  const std::lock_guard lock(mutex_);
  Pulse& pulse = pulses_[rank];
  if (count != pulse.count) pulse = {count, now};
  return now - pulse.since > options_.lost_after;
}

std::unique_ptr<CellClaims> make_store_claims(const RankOptions& options) {
  require(
      options.world >= 1 && options.rank >= 0 && options.rank < options.world,
      "rank",
      "expected 0 to " + std::to_string(options.world - 1) + ", got " +
          std::to_string(options.rank));
  require(options.port >= 1 && options.port <= 65535, "port",
          "expected 1 to 65535, got " + std::to_string(options.port));
  require(options.lost_after > 0, "lost_after",
          "expected more than 0, got " + std::to_string(options.lost_after));
  return std::make_unique<LivingClaims>(options);
}

}  // namespace sotta
