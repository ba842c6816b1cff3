#include "serve/fleet/lease_rules.h"

namespace sotta {

ClaimReply claim_lease(LeaseRecord& record, const std::string& owner,
                       const std::string& address, const std::string& claim) {
  ClaimReply reply;
  if (!record.holder.empty() && record.holder != owner &&
      record.address != address) {
    reply.address = record.address;
    return reply;
  }
  reply.taken = true;
  reply.fence_before = record.fence;
  reply.claim_before = record.claim;
  reply.number = record.number;
  reply.fence = ++record.fence;
  record.claim = claim;
  record.holder = owner;
  record.address = address;
  return reply;
}

bool renew_lease(const LeaseRecord& record, const std::string& owner,
                 int64_t fence) {
  return record.holder == owner && record.fence == fence;
}

bool end_lease(LeaseRecord& record, const std::string& address) {
  if (record.holder.empty() || record.address != address) return false;
  record.holder.clear();
  record.address.clear();
  return true;
}

SaveOutcome save_snapshot(LeaseRecord& record, const std::string& claim,
                          int64_t fence, int64_t number) {
  if (record.fence != fence || record.claim != claim)
    return SaveOutcome::kFenced;
  if (number <= record.number) return SaveOutcome::kOlder;
  record.number = number;
  return SaveOutcome::kSaved;
}

bool note_durable(LeaseRecord& record, const std::string& claim, int64_t fence,
                  int64_t number) {
  if (record.fence != fence || record.claim != claim) return false;
  record.durable = number;
  return true;
}

bool remove_stream(LeaseRecord& record, const std::string& claim,
                   int64_t fence) {
  if (record.fence != fence || record.claim != claim) return false;
  ++record.fence;
  record.holder.clear();
  record.address.clear();
  record.number = record.durable = 0;
  return true;
}

bool release_lease(LeaseRecord& record, const std::string& owner,
                   int64_t fence) {
  if (record.holder != owner || record.fence != fence) return false;
  record.holder.clear();
  record.address.clear();
  return true;
}

Standing standing_after(const ClaimReply& reply, const std::string& claim,
                        int64_t held) {
  if (!reply.taken) return Standing::kElsewhere;
  const bool nobody_between =
      held > 0 && reply.fence_before == held && reply.claim_before == claim;
  return nobody_between ? Standing::kCurrent : Standing::kStale;
}

}  // namespace sotta
