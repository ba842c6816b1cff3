#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/request_error.h"
#include "serve/streams/request_journal.h"
#include "serve/streams/stream_state.h"

namespace sotta {

// A snapshot of a stream. Snapshots are numbered from 1.
struct SnapshotEntry {
  int64_t number = 0;
  bool kept = false;  // asked for by a person, so kept for longer
  bool left = {};     // what a rollback or a reset went away from: likewise

  // Of describe_snapshots() alone, and what the storage does not know is not
  // there.
  std::optional<int64_t> next_seq = {}, updates = {};
  std::optional<int64_t> saved_ms = {};  // since 1970
};

// The stream is with another server now. Nothing was done here, and what was
// in memory of it is to be dropped.
class StreamElsewhere : public RequestError {
 public:
  StreamElsewhere()
      : RequestError(HttpStatus::kUnavailable, "stream",
                     "is moving between servers, send it again") {}

  std::string address;    // of the server that has it; empty: not known
  int64_t lapses_ms = 0;  // when that server's lease lapses if it is gone
};

// Where one stream is kept: its snapshots, and journals of the requests since.
// Members throw Error(kIo) when the disk or the store refuses. Not thread-safe,
// but for is_lost().
class StreamStorage {
 public:
  virtual ~StreamStorage() = default;

  // The stream's name; empty if nobody gave it.
  virtual const std::string& stream() const = 0;

  // Makes sure that this process may use the stream. True if what it has in
  // memory of it is current; false if that is to be loaded again. Throws
  // StreamElsewhere; RequestError: kNotFound if there is none and it is not to
  // be made, kUnavailable if the store cannot be reached.
  virtual bool claim(bool /*create*/) { return true; }

  // Whether another server has taken the stream over: nothing can be saved.
  virtual bool is_lost() const { return false; }

  // Writes the next snapshot durably and returns its number. Throws
  // StreamElsewhere.
  virtual int64_t save(const StreamState& state, bool keep) = 0;

  struct Loaded {
    StreamState state;
    int64_t number = 0;
    std::vector<std::string> damaged;  // what is wrong with newer ones

    // Requests of it that outlive the store's failures; none: all of them.
    std::optional<int64_t> durable_seq;
  };
  // The newest snapshot that is whole; none if there is no whole one and none
  // was there. Newer ones that are damaged are put aside. Throws
  // Error(kBadFormat) if there are snapshots and all are damaged.
  virtual std::optional<Loaded> load() = 0;

  // From now on load() finds nothing, as what is there is to be replaced; the
  // files stay until the next snapshots are saved.
  virtual void forget_saved() {}

  struct Journalled {
    std::vector<StreamRequest> requests;
    std::vector<int64_t> damaged;  // journals that lack some of theirs
  };
  // The requests since a snapshot, from its journal and those after it.
  virtual Journalled requests_since(int64_t number) const = 0;

  // Puts a damaged journal aside, and says what is wrong with it.
  virtual std::string set_journal_aside(int64_t number) const = 0;

  // A new journal for requests since the snapshot.
  virtual std::unique_ptr<RequestJournal> start_journal(
      int64_t number) const = 0;

  virtual std::vector<SnapshotEntry> snapshots() const = 0;  // oldest first

  // The same with all that is known of each.
  virtual std::vector<SnapshotEntry> describe_snapshots() const {
    return snapshots();
  }

  // Keeps a snapshot for longer, as its state is about to be left.
  virtual void retain(int64_t /*number*/) {}

  // Throws Error(kNotFound) if there is none of this number, and as
  // to_stream_state() does.
  virtual StreamState read(int64_t number) const = 0;

  // All of it or nothing.
  virtual void remove() = 0;
};

// Where streams outlive the process.
class StreamStore {
 public:
  virtual ~StreamStore() = default;

  // Whether other processes use it too: streams come and go without this one.
  virtual bool is_shared() const { return false; }

  // Names of a model's streams that it has anything of, sorted; of a shared
  // one, none.
  virtual std::vector<std::string> streams(const std::string& model) const = 0;

  virtual std::unique_ptr<StreamStorage> open(
      const std::string& model, const std::string& stream) const = 0;

  // Where a stream stood when it was saved last.
  struct Saved {
    StateSummary state;
    int64_t number = 0;  // of the snapshot
  };
  // Of one of streams(), from headers alone; none if it has no snapshot. Throws
  // Error(kBadFormat) if it has some and no header can be read.
  virtual std::optional<Saved> find_saved(const std::string& /*model*/,
                                          const std::string& /*stream*/) const {
    return std::nullopt;
  }
};

}  // namespace sotta
