#include "serve/streams/snapshot_storage.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sotta/core/error.h"

namespace sotta {
namespace {

bool is_plain(const SnapshotEntry& entry) {
  return !entry.kept && !entry.left;
}

}  // namespace

const SnapshotEntry* newest_plain(const std::vector<SnapshotEntry>& all) {
  const auto found = std::find_if(all.rbegin(), all.rend(), is_plain);
  return found == all.rend() ? nullptr : &*found;
}

std::vector<SnapshotEntry> add_snapshot(const SnapshotEntry& added,
                                        bool repeats,
                                        const SnapshotRetention& retention,
                                        std::vector<SnapshotEntry>& all) {
  std::vector<SnapshotEntry> stay, gone;
  const SnapshotEntry* plain = repeats ? newest_plain(all) : nullptr;
  const int64_t repeated = plain ? plain->number : 0;
  all.push_back(added);
  size_t kept = 0, left = 0, others = 0, spaced = 0;
  const auto stays = [&](const SnapshotEntry& entry) {
    const bool newest_two = stay.size() < 2;
    if (entry.kept) return kept++ < retention.kept || newest_two;
    if (entry.left) return left++ < retention.left || newest_two;
    return others++ < 2 || newest_two ||
           (entry.number % SnapshotRetention::kSpacing == 0 &&
            spaced++ < retention.spaced);
  };
  for (size_t i = all.size(); i-- > 0;)
    (all[i].number != repeated && stays(all[i]) ? stay : gone)
        .push_back(all[i]);
  all.assign(stay.rbegin(), stay.rend());
  return gone;
}

const char* ending_of(const SnapshotEntry& entry) {
  return entry.kept ? "-kept" : entry.left ? "-left" : "";
}

std::vector<SnapshotEntry> snapshots_among(
    const std::vector<std::string>& names,
    const std::function<std::string(const SnapshotEntry&)>& name_of) {
  std::vector<SnapshotEntry> entries;
  for (const std::string& name : names) {
    int64_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number <= 0 || number > kHighestSnapshot) continue;
    for (const SnapshotEntry& entry :
         {SnapshotEntry{number, false}, SnapshotEntry{number, true},
          SnapshotEntry{number, false, true}})
      if (name_of(entry) == name) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return entries;
}

StreamState SnapshotStorage::read(int64_t number) const {
  for (const SnapshotEntry& entry : snapshots())
    if (entry.number == number) return read_snapshot(entry);
  fail(ErrorKind::kNotFound, "snapshot",
       "there is none of number " + std::to_string(number));
}

std::optional<StreamStorage::Loaded> SnapshotStorage::load_newest() {
  const auto all = snapshots();
  Loaded loaded;
  std::vector<SnapshotEntry> broken;
  for (size_t i = all.size(); i-- > 0;) {
    try {
      loaded.state = read_snapshot(all[i]);
      loaded.number = all[i].number;
      for (const SnapshotEntry& entry : broken)
        set_aside(entry);
      return loaded;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kIo) throw;
      loaded.damaged.push_back(first_line(error));
      broken.push_back(all[i]);
    }
  }
  // Nothing whole: as it is, for a person to look at.
  if (!loaded.damaged.empty())
    throw Error(ErrorKind::kBadFormat, loaded.damaged.front());
  return std::nullopt;
}

}  // namespace sotta
