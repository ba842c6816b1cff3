#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// The lease protocol of a stream that several servers may serve (docs/fleet.md)
// as plain functions over what the shared store holds of it. Redis runs the
// same rules as scripts (lease_scripts.h), each in one step; tests compare both
// and try every interleaving of two servers over these.
//
// An owner is one process: a server that starts again is another owner. Every
// claim has a name of its own, which no other ever has: where a replica was
// promoted that lacks the newest claims, a fence may count for the second time.
struct LeaseRecord {
  std::string holder;   // whose lease it is; empty: lapsed, released, or none
  std::string address;  // where the holder is reached
  std::string claim;    // which has raised the fence last
  int64_t fence = 0;    // how often the stream has changed hands
  int64_t number = 0;   // of the newest snapshot; 0: there is none

  // Number of the newest snapshot that replicas are known to have, where
  // snapshots are durable on replicas alone (--min-replicas).
  int64_t durable = 0;
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
  std::string claim_before;
  int64_t number = 0;
};

// Takes the lease and raises the fence, unless another owner holds it. Who
// holds it at the same address is a predecessor whose process has ended.
ClaimReply claim_lease(LeaseRecord& record, const std::string& owner,
                       const std::string& address, const std::string& claim);

// Prolongs a lease that is held under this fence. Whether it was.
bool renew_lease(const LeaseRecord& record, const std::string& owner,
                 int64_t fence);

// Ends the lease of a process that is gone from this address and has missed a
// renewal: it lapses before its time. Whether it did.
bool end_lease(LeaseRecord& record, const std::string& address);

enum class SaveOutcome {
  kSaved,
  kFenced,  // another owner has claimed the stream since
  kOlder,   // a snapshot of this number or a later one is there
};
// Takes a snapshot under the claim that raised the fence last, even if its
// lease has lapsed: nobody else has claimed the stream then.
SaveOutcome save_snapshot(LeaseRecord& record, const std::string& claim,
                          int64_t fence, int64_t number);

// Notes that enough replicas have a snapshot, unless the stream has been
// claimed since. Whether it did.
bool note_durable(LeaseRecord& record, const std::string& claim, int64_t fence,
                  int64_t number);

// Removes all but the fence, which it raises for saves that are on their way,
// unless the stream has been claimed since. Whether it did.
bool remove_stream(LeaseRecord& record, const std::string& claim,
                   int64_t fence);

// Gives the lease back, if it is held under this fence. Whether it was.
bool release_lease(LeaseRecord& record, const std::string& owner,
                   int64_t fence);

// What a server makes of a reply, whose copy of the stream in memory goes with
// its last lease: `claim`, and `held`, the fence (0: it has no copy).
enum class Standing {
  kCurrent,    // goes on with the copy, under the new fence
  kStale,      // drops the copy, and loads the newest snapshot
  kElsewhere,  // drops the copy, and asks the holder
};
Standing standing_after(const ClaimReply& reply, const std::string& claim,
                        int64_t held);

}  // namespace sotta
