#include "serve/fleet/lease_keeper.h"

#include <algorithm>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/fleet/lease_scripts.h"

namespace sotta {
namespace {

constexpr std::chrono::milliseconds kProbeInterval{200};
constexpr std::chrono::milliseconds kAddressInterval{20};
constexpr size_t kBatch = 256;  // leases renewed in one go

}  // namespace

LeaseKeeper::LeaseKeeper(RedisClient& client, std::string owner,
                         std::string address, int64_t lease_ms)
    : client_(client),
      owner_(std::move(owner)),
      address_(std::move(address)),
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
  held_[lease->key] = lease;
}

// The stream may have been opened again meanwhile, and have a later lease.
void LeaseKeeper::erase(const std::shared_ptr<HeldLease>& lease) {
  const auto found = held_.find(lease->key);
  if (found != held_.end() && found->second == lease) held_.erase(found);
}

void LeaseKeeper::forget(const std::shared_ptr<HeldLease>& lease) {
  const Lock lock(mutex_);
  erase(lease);
}

void LeaseKeeper::release(const std::shared_ptr<HeldLease>& lease) {
  const Lock lock(mutex_);
  erase(lease);
  if (lease->fence == 0 || lease->lost) return;
  releases_.push_back({lease->key, lease->fence});
  wake_.notify_all();
}

size_t LeaseKeeper::held() const {
  const Lock lock(mutex_);
  return held_.size();
}

bool LeaseKeeper::holds(const std::string& key) const {
  const Lock lock(mutex_);
  const auto found = held_.find(key);
  return found != held_.end() && found->second->is_valid();
}

void LeaseKeeper::work() {
  using Clock = HeldLease::Clock;
  const std::chrono::milliseconds interval(lease_ms_ / 3);
  auto next = Clock::now() + interval;
  Lock lock(mutex_);
  while (!ended_ || !releases_.empty()) {
    // Requests find out that Redis is away, and do not wake anyone.
    wake_.wait_until(lock, std::min(next, Clock::now() + kProbeInterval),
                     [this] { return ended_ || !releases_.empty(); });
    const auto releases = std::exchange(releases_, {});
    Leases held;
    for (const auto& [key, lease] : held_)
      held.push_back(lease);
    if (!client_.is_away()) said_.clear();
    lock.unlock();
    if (client_.is_away()) {
      probe();
      // Others may have waited for the leases to lapse.
      if (!client_.is_away()) next = Clock::now();
    }
    if (!releases.empty()) release(releases);
    if (Clock::now() >= next) {
      renew_registration();
      renew(held);
      next = Clock::now() + interval;
    }
    lock.lock();
  }
  lock.unlock();
  unregister();
}

void LeaseKeeper::probe() {
  try {
    client_.probe();
    log(LogLevel::kWarning,
        client_.address().text() + ": is back, streams go on");
  } catch (const std::exception& error) {
    warn(error);
  }
}

// Says once why Redis is away, whoever found it out, and again where that is
// another reason now: a person may have to mend it.
void LeaseKeeper::warn(const std::exception& error) {
  const std::string problem = client_.problem();
  {
    const Lock lock(mutex_);
    if (!registers_ || (!problem.empty() && problem == said_)) return;
    said_ = problem;
  }
  log(LogLevel::kWarning, first_line(error));
}

// Another that is registered here, unless it has missed a renewal: those come
// after a third of a lease. Else this process is registered.
std::optional<LeaseKeeper::Registration> LeaseKeeper::try_register(
    const std::string& gone) {
  const RedisReply reply = client_.run(RedisCommand{
      "EVAL", kRegisterScript, "1", "sotta:server:{" + address_ + "}", owner_,
      std::to_string(lease_ms_), gone});
  if (reply.list.size() < 3) return std::nullopt;
  Registration other{reply.list[1].text, reply.list[2].integer};
  if (other.left_ms < lease_ms_ / 2 && gone.empty())
    return try_register(other.owner);
  return other;
}

void LeaseKeeper::wait_for_address() {
  Registration before;
  while (const auto other = try_register()) {
    if (other->owner == before.owner && other->left_ms > before.left_ms)
      fail(ErrorKind::kInvalid, "--advertise",
           "another server that runs has " + address_ + ", too");
    before = *other;
    std::this_thread::sleep_for(kAddressInterval);
  }
}

void LeaseKeeper::take_address() {
  try {
    wait_for_address();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
  }
  const Lock lock(mutex_);
  said_ = client_.problem();  // by whoever starts
  registers_ = true;
}

// A predecessor's registration, found when Redis is back, has missed a renewal
// before the third look.
void LeaseKeeper::renew_registration() {
  if (!registers_) return;
  try {
    doubled_ = try_register() ? doubled_ + 1 : 0;
  } catch (const std::exception&) {
    return;  // renewing leases says why
  }
  if (doubled_ == 3)
    log(LogLevel::kWarning, "--advertise " + address_ +
                                ": another server that runs has the same, "
                                "both take streams from each other");
}

void LeaseKeeper::unregister() {
  try {
    client_.run(RedisCommand{"EVAL", kUnregisterScript, "1",
                             "sotta:server:{" + address_ + "}", owner_});
  } catch (const std::exception&) {
    // It lapses by itself.
  }
}

void LeaseKeeper::renew(const Leases& leases) {
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
          if (replies[i - begin].integer == 1) {
            leases[i]->prolong(asked, lease_ms_);
          } else {  // whoever uses the stream next claims it
            leases[i]->valid_until = 0;
            forget(leases[i]);
          }
        }
    } catch (const std::exception& error) {
      warn(error);
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
