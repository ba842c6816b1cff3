// What a table says of its streams.

#include <algorithm>

#include "sotta/core/error.h"

#include "serve/streams/stream_table.h"
#include "serve/streams/stream_trouble.h"
#include "serve/streams/without_folder.h"

namespace sotta {

// Of a stream that nobody has asked for yet, as it is on disk.
StreamStatus StreamTable::saved_status(const std::string& name) const {
  StreamStatus status;
  try {
    const auto saved = store_.find_saved(model_, name);
    if (!saved) return status;
    const StateSummary& state = saved->state;
    const auto progress = state.progress.value_or(StreamProgress());
    status.next_seq = status.durable_seq = state.next_seq;
    status.images = progress.images;
    status.updates = progress.updates;
    status.pending = progress.pending;
    status.guard_trips = state.guard_trips;
    status.skipped = state.skipped;
    status.snapshot = saved->number;
    status.frozen = state.frozen ? kFrozenByRequest : "";
  } catch (const std::exception& error) {
    status.unloadable = without_folder(first_line(error));
  }
  return status;
}

std::string StreamTable::storage_problem() const {
  const Lock lock(mutex_);
  for (const auto& [name, entry] : entries_)
    if (!entry.status.problem.empty()) return entry.status.problem;
  return "";
}

std::vector<StreamTable::Listed> StreamTable::list(
    const std::string& after, size_t limit,
    const std::function<bool(const std::string&)>& wanted) const {
  const Lock lock(mutex_);
  std::vector<Listed> listed;
  for (auto found = entries_.upper_bound(after);
       found != entries_.end() && listed.size() < limit; ++found)
    if (wanted(found->first))
      listed.push_back({found->first, found->second.stream != nullptr,
                        found->second.status});
  return listed;
}

StreamTable::Ranked StreamTable::list_by_trouble(
    size_t offset, size_t limit,
    const std::function<bool(const std::string&)>& wanted) const {
  struct Place {
    double rank;
    std::map<std::string, Entry>::const_iterator entry;
  };
  const Lock lock(mutex_);
  std::vector<Place> places;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
    if (wanted(entry->first))
      places.push_back({find_trouble(entry->second.status).rank, entry});
  const auto first = std::min(offset, places.size());
  const auto last = first + std::min(limit, places.size() - first);
  const auto at = [&](size_t i) {
    return places.begin() + static_cast<std::ptrdiff_t>(i);
  };
  std::partial_sort(places.begin(), at(last), places.end(),
                    [](const Place& one, const Place& other) {
                      return one.rank != other.rank
                                 ? one.rank > other.rank
                                 : one.entry->first < other.entry->first;
                    });
  Ranked ranked;
  ranked.total = places.size();
  std::for_each(at(first), at(last), [&](const Place& place) {
    const Entry& entry = place.entry->second;
    ranked.streams.push_back(
        {place.entry->first, entry.stream != nullptr, entry.status});
  });
  return ranked;
}

StreamTable::Census StreamTable::census() const {
  const Lock lock(mutex_);
  Census census;
  census.known = static_cast<int64_t>(entries_.size());
  census.resident = in_memory_;
  for (const auto& [name, entry] : entries_) {
    if (!entry.status.frozen.empty()) ++census.frozen;
    if (!entry.status.problem.empty()) ++census.unsaved;
    if (find_trouble(entry.status).rank > 0) ++census.in_trouble;
  }
  return census;
}

bool StreamTable::contains(const std::string& name) const {
  const Lock lock(mutex_);
  return entries_.count(name) > 0;
}

size_t StreamTable::size() const {
  const Lock lock(mutex_);
  return entries_.size();
}

size_t StreamTable::resident() const {
  const Lock lock(mutex_);
  return static_cast<size_t>(in_memory_);
}

int64_t StreamTable::skipped() const {
  const Lock lock(mutex_);
  return skipped_;
}

std::vector<std::string> StreamTable::next_unsaved(size_t limit) {
  const Lock lock(mutex_);
  std::vector<std::string> before, after;
  for (const auto& [name, entry] : entries_)
    if (!entry.status.problem.empty())
      (name <= last_unsaved_ ? before : after).push_back(name);
  after.insert(after.end(), before.begin(), before.end());
  after.resize(std::min(after.size(), limit));
  if (!after.empty()) last_unsaved_ = after.back();
  return after;
}

}  // namespace sotta
