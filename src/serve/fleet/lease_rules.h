#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// The lease protocol of a stream that several servers may serve (docs/fleet.md)
// as plain functions over what the shared store holds of it. Redis runs the
// same rules as scripts (lease_scripts.h), each in one step; tests compare both
// and try every interleaving of two servers over these.
//
// An owner is one process: a server that starts again is another owner.
struct LeaseRecord {
  std::string holder;   // whose lease it is; empty: lapsed, released, or none
  std::string address;  // where the holder is reached
  std::string owner;    // who has raised the fence last
  int64_t fence = 0;    // how often the stream has changed hands
  int64_t number = 0;   // of the newest snapshot; 0: there is none
};

// What an owner gets that asks for the lease.
struct ClaimReply {
  bool taken = false;

  // If not: where the holder is reached, and when its lease lapses.
  std::string address;
  int64_t lapses_ms = 0;

  // If it is: the fence that goes with it, and what there was before.
  int64_t fence = 0;
  int64_t fence_before = 0;
  std::string owner_before;
  int64_t number = 0;
};

// Takes the lease and raises the fence, unless another owner holds it. Who
// holds it at the same address is a predecessor whose process has ended.
ClaimReply claim_lease(LeaseRecord& record, const std::string& owner,
                       const std::string& address);

// Prolongs a lease that is held under this fence. Whether it was.
bool renew_lease(const LeaseRecord& record, const std::string& owner,
                 int64_t fence);

enum class SaveOutcome {
  kSaved,
  kFenced,  // another owner has claimed the stream since
  kOlder,   // a snapshot of this number or a later one is there
};
// Takes a snapshot from the owner that raised the fence last, even if its lease
// has lapsed: nobody else has claimed the stream then.
SaveOutcome save_snapshot(LeaseRecord& record, const std::string& owner,
                          int64_t fence, int64_t number);

// Gives the lease back, if it is held under this fence. Whether it was.
bool release_lease(LeaseRecord& record, const std::string& owner,
                   int64_t fence);

// What a server makes of a reply, whose copy of the stream in memory goes with
// `held`, the fence of its last lease (0: it has no copy).
enum class Standing {
  kCurrent,    // goes on with the copy, under the new fence
  kStale,      // drops the copy, and loads the newest snapshot
  kElsewhere,  // drops the copy, and asks the holder
};
Standing standing_after(const ClaimReply& reply, const std::string& owner,
                        int64_t held);

}  // namespace sotta
