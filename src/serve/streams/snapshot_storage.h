#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "serve/streams/stream_storage.h"

namespace sotta {

// Which snapshots stay when a new one has been saved: the newest two of all,
// the newest two that are plain (neither asked for nor left), and
struct SnapshotRetention {
  size_t kept = 16;  // the newest that were asked for
  size_t left = 2;   // the newest that a rollback or a reset went away from

  // The newest plain ones before those whose number is a multiple of kSpacing.
  size_t spaced = 2;
  static constexpr int64_t kSpacing = 16;
};

// The newest plain one; null if there is none. `all`: the oldest first, here
// and below.
const SnapshotEntry* newest_plain(const std::vector<SnapshotEntry>& all);

// Adds a new snapshot to `all`, takes out those that it supersedes and returns
// them. If it `repeats` the adapter's state of the newest plain one, that goes:
// commands and images that nothing is learnt from push no other state out.
std::vector<SnapshotEntry> add_snapshot(const SnapshotEntry& added,
                                        bool repeats,
                                        const SnapshotRetention& retention,
                                        std::vector<SnapshotEntry>& all);

// What a snapshot's name has behind its number: "", "-kept" or "-left".
const char* ending_of(const SnapshotEntry& entry);

// More than any stream can have saved: a file with such a number is no
// snapshot.
constexpr int64_t kHighestSnapshot = 1'000'000'000'000'000;

// The snapshots of these names, which begin with their numbers; `name_of` says
// how one is named. Others are left out.
std::vector<SnapshotEntry> snapshots_among(
    const std::vector<std::string>& names,
    const std::function<std::string(const SnapshotEntry&)>& name_of);

// A storage of whole snapshots, from which the newest that can be read is
// loaded.
class SnapshotStorage : public StreamStorage {
 public:
  StreamState read(int64_t number) const override;

 protected:
  // As StreamStorage::load().
  std::optional<Loaded> load_newest();

  virtual StreamState read_snapshot(const SnapshotEntry& entry) const = 0;

  // Gives a damaged one a name that is none of a snapshot.
  virtual void set_aside(const SnapshotEntry& entry) const = 0;
};

}  // namespace sotta
