#include "serve/streams/stream_table.h"

#include <utility>

#include "sotta/core/error.h"

#include "serve/request_error.h"

namespace sotta {

StreamTable::StreamTable(const StateStore& store, std::string model, Open open,
                         const TableOptions& options)
    : store_(store),
      model_(std::move(model)),
      open_(std::move(open)),
      options_(options) {
  for (const std::string& name : store_.streams(model_))
    entries_[name];
}

void StreamTable::use(const std::string& name, bool create,
                      const std::function<void(ServedStream&)>& work) {
  Lock lock(mutex_);
  const bool known = entries_.count(name) > 0;
  Entry& entry = take(name, create, lock);
  try {
    if (!entry.stream) load(name, entry, lock);
    touch(entry);
    lock.unlock();
    work(*entry.stream);
    lock.lock();
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!known && is_untouched(entry)) {
      drop(entry);
      entries_.erase(name);
      given_back_.notify_all();
    } else {
      give_back(entry, lock);
    }
    throw;
  }
  give_back(entry, lock);
}

// A stream whose first request was refused need not be known.
bool StreamTable::is_untouched(const Entry& entry) {
  if (!entry.stream) return true;
  const StreamStatus status = entry.stream->status();
  return status.next_seq == 0 && status.snapshot == 0;
}

// Another thread that loads meanwhile finds the place taken.
void StreamTable::load(const std::string& name, Entry& entry, Lock& lock) {
  make_room(lock);
  ++in_memory_;
  lock.unlock();
  std::unique_ptr<ServedStream> stream;
  try {
    stream = open_(store_.folder(model_, name));
  } catch (...) {
    lock.lock();
    --in_memory_;
    throw;
  }
  lock.lock();
  entry.stream = std::move(stream);
}

void StreamTable::touch(Entry& entry) {
  by_use_.erase(entry.last_use);
  entry.last_use = ++uses_;
  by_use_[entry.last_use] = &entry;
}

void StreamTable::unload(Entry& entry) {
  entry.status = entry.stream->status();
  drop(entry);
}

void StreamTable::drop(Entry& entry) {
  if (!entry.stream) return;
  by_use_.erase(entry.last_use);
  entry.stream.reset();
  --in_memory_;
}

// Entries stay where they are in a map, so a busy one may be used without the
// lock.
StreamTable::Entry& StreamTable::take(const std::string& name, bool create,
                                      Lock& lock) {
  for (;;) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) break;
    if (!found->second.busy) {
      found->second.busy = true;
      return found->second;
    }
    given_back_.wait(lock);
  }
  if (!create)
    throw RequestError(HttpStatus::kNotFound, "stream",
                       "there is none of this name");
  if (static_cast<int64_t>(entries_.size()) >= options_.max_streams)
    throw RequestError(HttpStatus::kTooMany, "streams",
                       "expected at most " +
                           std::to_string(options_.max_streams) +
                           ", all of them are there");
  Entry& entry = entries_[name];
  entry.busy = true;
  return entry;
}

void StreamTable::give_back(Entry& entry, Lock& lock) {
  if (entry.stream) entry.status = entry.stream->status();
  entry.busy = false;
  lock.unlock();
  given_back_.notify_all();
}

// Works on a busy stream, without the lock, where no request waits for it: what
// goes wrong there (memory may run out) must not keep the stream busy. The
// stream's next request meets it again.
bool StreamTable::attempt(Lock& lock, const std::function<bool()>& work) {
  lock.unlock();
  bool done = false;
  try {
    done = work();
  } catch (const std::exception&) {
    done = false;
  }
  lock.lock();
  return done;
}

// For one more stream. A stream that the disk refuses is kept, and the next
// one tried.
void StreamTable::make_room(Lock& lock) {
  uint64_t after = 0;
  while (in_memory_ >= options_.max_resident) {
    auto oldest = by_use_.upper_bound(after);
    while (oldest != by_use_.end() && oldest->second->busy)
      ++oldest;
    if (oldest == by_use_.end())
      throw RequestError(HttpStatus::kUnavailable, "stream",
                         "there is no room to load it into");
    after = oldest->first;
    Entry& entry = *oldest->second;
    entry.busy = true;
    const bool saved = attempt(lock, [&] { return entry.stream->save_all(); });
    if (saved) unload(entry);
    entry.busy = false;
    given_back_.notify_all();
  }
}

void StreamTable::remove(const std::string& name) {
  Lock lock(mutex_);
  Entry& entry = take(name, /*create=*/false, lock);
  lock.unlock();
  try {
    store_.folder(model_, name).remove();
  } catch (...) {
    lock.lock();
    give_back(entry, lock);
    throw;
  }
  lock.lock();
  drop(entry);
  entries_.erase(name);
  lock.unlock();
  given_back_.notify_all();
}

bool StreamTable::park(const std::string& name) {
  Lock lock(mutex_);
  Entry& entry = take(name, /*create=*/false, lock);
  const bool saved =
      attempt(lock, [&] { return entry.stream && entry.stream->save_all(); });
  if (saved) unload(entry);
  give_back(entry, lock);
  return saved;
}

void StreamTable::finish(const std::string& name) {
  Lock lock(mutex_);
  const auto found = entries_.find(name);
  // Whoever has it now does this work first, and who put it on disk has.
  if (found == entries_.end() || found->second.busy || !found->second.stream)
    return;
  Entry& entry = found->second;
  entry.busy = true;
  attempt(lock, [&] {
    entry.stream->finish();
    return true;
  });
  give_back(entry, lock);
}

std::string StreamTable::storage_problem() const {
  const Lock lock(mutex_);
  for (const auto& [name, entry] : entries_)
    if (!entry.status.problem.empty()) return entry.status.problem;
  return "";
}

std::vector<StreamTable::Listed> StreamTable::list(const std::string& after,
                                                   size_t limit) const {
  const Lock lock(mutex_);
  std::vector<Listed> listed;
  for (auto found = entries_.upper_bound(after);
       found != entries_.end() && listed.size() < limit; ++found)
    listed.push_back(
        {found->first, found->second.stream != nullptr, found->second.status});
  return listed;
}

size_t StreamTable::size() const {
  const Lock lock(mutex_);
  return entries_.size();
}

size_t StreamTable::resident() const {
  const Lock lock(mutex_);
  return static_cast<size_t>(in_memory_);
}

size_t StreamTable::save_all() {
  std::vector<std::string> names;
  {
    const Lock lock(mutex_);
    for (const auto& [name, entry] : entries_)
      if (entry.stream) names.push_back(name);
  }
  size_t refused = 0;
  for (const std::string& name : names) {
    bool saved = false;
    try {
      use(name, /*create=*/false,
          [&](ServedStream& stream) { saved = stream.save_all(); });
    } catch (const std::exception&) {
      // The others are to be saved whatever is wrong with this one.
    }
    if (!saved) ++refused;
  }
  return refused;
}

}  // namespace sotta
