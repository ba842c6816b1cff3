// What a table does of its own where its store is shared with other servers.

#include "serve/streams/stream_table.h"

namespace sotta {

// After a failure: what is nowhere, or is with another server, is not known;
// what could not be loaded is, as one of those in trouble.
void StreamTable::give_up(const std::string& name, Entry& entry, bool known,
                          Lock& lock) {
  drop_if_lost(entry);
  if ((known && !store_.is_shared()) || !entry.status.unloadable.empty() ||
      !is_untouched(entry))
    return give_back(entry, lock);
  drop(entry);
  entries_.erase(name);
  lock.unlock();
  given_back_.notify_all();
}

// Drops a copy that another server has gone on from meanwhile.
void StreamTable::claim(Entry& entry, bool create, Lock& lock) {
  lock.unlock();
  bool current = false;
  try {
    current = entry.stream->storage().claim(create);
  } catch (const StreamElsewhere&) {
    lock.lock();
    drop(entry);
    throw;
  }
  lock.lock();
  if (!current) drop(entry);
}

void StreamTable::drop_if_lost(Entry& entry) {
  if (!entry.stream || !entry.stream->storage().is_lost()) return;
  drop(entry);
  entry.status = StreamStatus();
}

// Of a shared store, where there are too many: the store has its name.
void StreamTable::forget_one_on_disk() {
  if (static_cast<int64_t>(entries_.size()) < options_.max_streams) return;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->second.stream || entry->second.busy) continue;
    entries_.erase(entry);
    return;
  }
}

// One that another server has taken over need not be saved.
bool StreamTable::save_or_lose(const std::string& name) {
  if (park(name)) return true;
  const Lock lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() || !found->second.stream;
}

}  // namespace sotta
