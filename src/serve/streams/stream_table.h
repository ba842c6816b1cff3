#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/streams/served_stream.h"
#include "serve/streams/state_store.h"

namespace sotta {

struct TableOptions {
  int64_t max_streams = 10000;  // known, in memory or on disk
  int64_t max_resident = 256;   // in memory; the others wait on disk
};

// The streams of one model, by name. Those used least recently go to disk when
// there are more than max_resident, and come back bit for bit.
//
// Thread-safe: a stream is used by one thread at a time, and no other stream
// waits for it.
class StreamTable {
 public:
  using Open = std::function<std::unique_ptr<ServedStream>(StreamFolder)>;

  // Knows at once the streams that the store has of this model; `open` makes
  // one, new or from its folder.
  StreamTable(const StateStore& store, std::string model, Open open,
              const TableOptions& options);

  // Calls `work` with the stream, loaded or, if `create`, new. Throws
  // RequestError: kNotFound for an unknown one, kTooMany beyond max_streams,
  // kUnavailable if room cannot be made as the disk refuses; and whatever
  // `open` and `work` throw.
  void use(const std::string& name, bool create,
           const std::function<void(ServedStream&)>& work);

  // Forgets a stream and removes its files. Throws RequestError(kNotFound).
  void remove(const std::string& name);

  struct Listed {
    std::string name;
    bool resident = false;
    StreamStatus status;  // as it was after the last use; zeros before that
  };
  // Up to `limit` streams that come after this name, in the order of names.
  std::vector<Listed> list(const std::string& after, size_t limit) const;

  size_t size() const;
  size_t resident() const;

  // Saves what is not on disk. How many streams the disk refused.
  size_t save_all();

  // ServedStream::finish() of a stream that is in memory and not in use.
  void finish(const std::string& name);

  // Why the disk refuses a stream; empty if it refuses none.
  std::string storage_problem() const;

  // Puts a stream on disk and takes it out of memory, and says whether it did;
  // nothing if it is not there, or the disk refuses.
  bool park(const std::string& name);

 private:
  struct Entry {
    std::unique_ptr<ServedStream> stream;  // none while it is on disk
    bool busy = false;                     // a thread has it
    uint64_t last_use = 0;  // a number of its own; 0 before the first
    StreamStatus status;
  };
  using Lock = std::unique_lock<std::mutex>;

  Entry& take(const std::string& name, bool create, Lock& lock);
  void give_back(Entry& entry, Lock& lock);
  void load(const std::string& name, Entry& entry, Lock& lock);
  void touch(Entry& entry);
  void unload(Entry& entry);
  void drop(Entry& entry);
  static bool is_untouched(const Entry& entry);
  static bool attempt(Lock& lock, const std::function<bool()>& work);
  void make_room(Lock& lock);

  const StateStore& store_;
  const std::string model_;
  const Open open_;
  const TableOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  std::map<std::string, Entry> entries_;
  uint64_t uses_ = 0;
  std::map<uint64_t, Entry*> by_use_;  // those in memory, by last_use
  int64_t in_memory_ = 0;              // with those on their way there
};

}  // namespace sotta
