#include "serve/fleet/lease_keeper.h"

#include <algorithm>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/fleet/lease_scripts.h"

namespace sotta {
namespace {

constexpr std::chrono::milliseconds kProbeInterval{200};
constexpr size_t kBatch = 256;  // leases renewed in one go

}  // namespace

LeaseKeeper::LeaseKeeper(RedisClient& client, std::string owner,
                         int64_t lease_ms)
    : client_(client),
      owner_(std::move(owner)),
      lease_ms_(lease_ms),
      thread_([this] { work(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const Lock lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LeaseKeeper::add(const std::shared_ptr<HeldLease>& lease) {
  const Lock lock(mutex_);
  held_.insert(lease);
}

void LeaseKeeper::forget(const std::shared_ptr<HeldLease>& lease) {
  const Lock lock(mutex_);
  held_.erase(lease);
}

void LeaseKeeper::release(const std::shared_ptr<HeldLease>& lease) {
  const Lock lock(mutex_);
  held_.erase(lease);
  if (lease->fence == 0 || lease->lost) return;
  releases_.push_back({lease->key, lease->fence});
  wake_.notify_all();
}

size_t LeaseKeeper::held() const {
  const Lock lock(mutex_);
  return held_.size();
}

void LeaseKeeper::work() {
  using Clock = HeldLease::Clock;
  const std::chrono::milliseconds interval(lease_ms_ / 3);
  auto next = Clock::now() + interval;
  Lock lock(mutex_);
  while (!ended_ || !releases_.empty()) {
    const auto until = client_.is_away() ? Clock::now() + kProbeInterval : next;
    wake_.wait_until(lock, until,
                     [this] { return ended_ || !releases_.empty(); });
    const auto releases = std::exchange(releases_, {});
    const std::vector<std::shared_ptr<HeldLease>> held(held_.begin(),
                                                       held_.end());
    lock.unlock();
    if (client_.is_away()) {
      probe();
      next = Clock::now();  // others may have waited for the leases to lapse
    }
    if (!releases.empty()) release(releases);
    if (Clock::now() >= next) {
      renew(held);
      next = Clock::now() + interval;
    }
    lock.lock();
  }
}

void LeaseKeeper::probe() {
  try {
    client_.probe();
    log(LogLevel::kWarning,
        client_.address().text() + ": is back, streams go on");
  } catch (const std::exception&) {
    // Still away; whoever needs it says so.
  }
}

void LeaseKeeper::renew(const std::vector<std::shared_ptr<HeldLease>>& leases) {
  for (size_t begin = 0; begin < leases.size(); begin += kBatch) {
    const size_t end = std::min(leases.size(), begin + kBatch);
    std::vector<RedisCommand> commands;
    std::vector<int64_t> fences;
    for (size_t i = begin; i < end; ++i) {
      fences.push_back(leases[i]->fence);
      commands.push_back({"EVAL", kRenewScript, "2", leases[i]->key + ":lease",
                          leases[i]->key + ":stream", owner_,
                          std::to_string(fences.back()),
                          std::to_string(lease_ms_)});
    }
    const auto asked = HeldLease::Clock::now();
    try {
      const auto replies = client_.run(commands);
      for (size_t i = begin; i < end; ++i)
        if (leases[i]->fence == fences[i - begin]) {  // not claimed meanwhile
          if (replies[i - begin].integer == 1)
            leases[i]->prolong(asked, lease_ms_);
          else
            leases[i]->valid_until = 0;
        }
    } catch (const std::exception& error) {
      log(LogLevel::kWarning, first_line(error));
      return;
    }
  }
}

void LeaseKeeper::release(const std::vector<Release>& releases) {
  std::vector<RedisCommand> commands;
  for (const Release& release : releases)
    commands.push_back({"EVAL", kReleaseScript, "2", release.key + ":lease",
                        release.key + ":stream", owner_,
                        std::to_string(release.fence)});
  try {
    client_.run(commands);
  } catch (const std::exception&) {
    // They lapse by themselves.
  }
}

}  // namespace sotta
