#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/fleet/lease_rules.h"
#include "serve/fleet/redis_store.h"
#include "serve/streams/snapshot_storage.h"

namespace sotta {

// "sotta:{MODEL/STREAM}", both escaped: what the keys of a stream begin with.
// What stands in braces decides where a Redis Cluster puts them.
std::string redis_key(const std::string& model, const std::string& stream);

// The names of a model's streams that were saved, as a sorted set.
std::string redis_index(const std::string& model);

// One stream in Redis, under a lease (docs/fleet.md). Journals are not kept.
class RedisStorage : public SnapshotStorage {
 public:
  RedisStorage(std::shared_ptr<FleetContext> context, const std::string& model,
               std::string stream);

  // Gives the lease back, soon.
  ~RedisStorage() override;

  const std::string& stream() const override { return stream_; }
  bool claim(bool create) override;
  bool is_lost() const override { return lease_->lost; }
  int64_t save(const StreamState& state, bool keep) override;
  std::optional<Loaded> load() override;
  Journalled requests_since(int64_t) const override { return {}; }
  std::string set_journal_aside(int64_t number) const override;
  std::unique_ptr<RequestJournal> start_journal(int64_t number) const override;
  std::vector<SnapshotEntry> snapshots() const override;
  void retain(int64_t number) override;
  void remove() override;

 private:
  RedisCommand script(const char* text, const std::vector<const char*>& keys,
                      const std::vector<std::string>& arguments) const;
  ClaimReply ask_for_lease(bool create, const std::string& claim);
  [[noreturn]] void lose(const ClaimReply& reply);
  RedisCommand save_command(const SnapshotEntry& entry,
                            const StreamState& state) const;
  const RedisReply& require_kind(RedisReply::Kind kind,
                                 const RedisReply& reply) const;
  int64_t integer_in(const RedisReply& reply) const;
  void note_durable(int64_t number, int64_t next_seq) const;
  std::optional<int64_t> durable_seq(const Loaded& loaded) const;
  StreamState read_snapshot(const SnapshotEntry& entry) const override;
  void set_aside(const SnapshotEntry& entry) const override;
  void rename(const SnapshotEntry& entry, const std::string& name) const;

  const std::shared_ptr<FleetContext> context_;
  const std::string stream_, key_, index_;
  const std::shared_ptr<HeldLease> lease_;
  std::string claim_;   // that the lease was taken by
  int64_t number_ = 0;  // of the last snapshot, or attempt to save one
  bool listed_ = false;
};

}  // namespace sotta
