#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/streams/served_stream.h"
#include "serve/streams/stream_storage.h"

namespace sotta {

struct TableOptions {
  int64_t max_streams = 10000;  // known, in memory or on disk
  int64_t max_resident = 256;   // in memory; the others wait on disk

  // Answers wait for no update of their stream, and this many images at the
  // most wait to be learnt from; 0: an answer waits for the updates before it.
  int64_t max_behind = 0;

  // Requests of a stream that may be answered ahead of it, learnt from or not;
  // one beyond waits for the stream. A disk that hangs would else fill the
  // memory with answers.
  size_t max_ahead = 4096;
};

// The streams of one model, by name. Those used least recently go to disk when
// there are more than max_resident, and come back bit for bit.
//
// Thread-safe: a stream is used by one thread at a time, and no other stream
// waits for it.
//
// With max_behind infer() answers by the network as of the last finished update
// (PublishedNetwork) while an update is due or running. Such a request is
// numbered, and waits to be learnt from in its turn; where too many wait it is
// skipped: answered, numbered, counted as skipped, not learnt from. Beyond
// max_ahead requests it waits for the stream.
//
//   requests   0 .. 63 | 64 65 66 ..      answered by the network before update
//   1 learning           | update 1, save | 64 65 66 .. |
//
// Whoever takes the stream itself (a command, an older request, the last save)
// first learns what waits. What waits is in no snapshot: a snapshot's next_seq
// is the first that the state has not learnt from, and so is durable_seq. After
// a crash a client sends again from there, and each request is learnt from
// once; its second answer may be of another network than its first.
class StreamTable {
 public:
  using Open = std::function<std::unique_ptr<ServedStream>(
      std::unique_ptr<StreamStorage>)>;

  // Knows at once the streams that the store has of this model; `open` makes
  // one, new or from its storage. Of a shared store it knows those that it
  // uses, and every use claims the stream first.
  StreamTable(const StreamStore& store, std::string model, Open open,
              const TableOptions& options);

  // Calls `work` with the stream, loaded or, if `create`, new. Throws
  // RequestError: kNotFound for an unknown one, kTooMany beyond max_streams,
  // kUnavailable if room cannot be made as the disk refuses; and whatever
  // `open` and `work` throw. Of a shared store also StreamElsewhere: nothing of
  // the stream is in memory then.
  void use(const std::string& name, bool create,
           const std::function<void(ServedStream&)>& work);

  // As use() with `create`, for work that gives the stream another state. Where
  // none of its snapshots is whole `work` gets a new one; if that is as new
  // after `work` has thrown, the files are as they were.
  void replace(const std::string& name,
               const std::function<void(ServedStream&)>& work);

  struct Inference {
    InferResult result;
    bool has_work = false;  // finish() is to be called, by any thread
  };
  // ServedStream::infer() of a stream that is known or new. Requests of one
  // stream must come one at a time, and not beside use(), park() or remove() of
  // that stream. Throws as use() does. `latency` is asked when the answer is
  // there, for the stream's figures: seconds since the request came. `begin` is
  // ServedStream::infer()'s, of requests that wait for the stream.
  using Latency = std::function<double()>;
  Inference infer(const std::string& name, const StreamRequest& request,
                  const Latency& latency = nullptr,
                  const ServedStream::Begin& begin = nullptr);

  // Forgets a stream and removes its files. Throws RequestError(kNotFound).
  void remove(const std::string& name);

  struct Listed {
    std::string name;
    bool resident = false;
    StreamStatus status;      // after the last use; before that, as on disk
    std::string server = {};  // of a fleet's: the address of who has it, if any
  };
  // Up to `limit` streams that come after this name, in the order of names, of
  // those whose names are `wanted`.
  std::vector<Listed> list(
      const std::string& after, size_t limit,
      const std::function<bool(const std::string&)>& wanted =
          [](const std::string&) { return true; }) const;

  // Up to `limit` streams whose names are `wanted`, those in trouble first
  // (find_trouble()), without the first `offset` of them.
  struct Ranked {
    std::vector<Listed> streams;
    size_t total = 0;  // that are wanted
  };
  Ranked list_by_trouble(
      size_t offset, size_t limit,
      const std::function<bool(const std::string&)>& wanted) const;

  // How many streams there are, of each kind.
  struct Census {
    int64_t known = 0, resident = 0;
    int64_t frozen = 0;      // for whatever reason
    int64_t unsaved = 0;     // of those frozen: as the disk refuses
    int64_t in_trouble = 0;  // of any kind
  };
  Census census() const;

  bool contains(const std::string& name) const;
  size_t size() const;
  size_t resident() const;
  int64_t skipped() const;  // images since the table was made, see infer()

  // Saves what is not on disk; streams of a shared store are given back, for
  // other servers to go on. How many streams the disk refused.
  size_t save_all();

  // ServedStream::finish() of a stream that is in memory; then learns from the
  // requests that were answered meanwhile. Without max_behind nothing if the
  // stream is in use.
  void finish(const std::string& name);

  // Why the disk refuses a stream; empty if it refuses none.
  std::string storage_problem() const;

  // Up to `limit` streams that the disk has refused, each in its turn: finish()
  // tries them again.
  std::vector<std::string> next_unsaved(size_t limit);

  // Puts a stream on disk and takes it out of memory, and says whether it did;
  // nothing if it is not there, or the disk refuses.
  bool park(const std::string& name);

 private:
  struct Entry {
    std::unique_ptr<ServedStream> stream;  // none while it is on disk
    bool busy = false;                     // a thread has it
    uint64_t last_use = 0;  // a number of its own; 0 before the first
    StreamStatus status;
    LiveFigures figures;  // while the stream is on disk

    // With max_behind. The network is there while the stream has work to do.
    std::shared_ptr<const PublishedNetwork> network;
    std::deque<AnsweredRequest> ahead;  // answered by it, to be learnt from
    bool answering = false;             // a thread uses the network
    int64_t next_seq = 0;               // behind those ahead
    int64_t skipped = 0;                // with those ahead
  };
  using Lock = std::unique_lock<std::mutex>;
  enum class Opening { kKnown, kCreate, kReplace };

  void use(const std::string& name, Opening opening,
           const std::function<void(ServedStream&)>& work);
  StreamStatus saved_status(const std::string& name) const;
  std::unique_ptr<ServedStream> open_stored(const std::string& name,
                                            Opening opening) const;
  Entry& take(const std::string& name, bool create, Lock& lock);
  void give_back(Entry& entry, Lock& lock);
  std::optional<InferResult> answer_ahead(const std::string& name,
                                          const StreamRequest& request,
                                          const Latency& latency);
  InferResult put_ahead(Entry& entry, AnsweredRequest ahead);
  bool is_behind(const Entry& entry, int64_t images) const;
  std::shared_ptr<const PublishedNetwork> publish(const ServedStream& stream,
                                                  bool works) const;
  void catch_up(Entry& entry, Lock& lock);
  void note_status(Entry& entry) const;
  bool save_all_of(Entry& entry, Lock& lock);
  void claim(Entry& entry, bool create, Lock& lock);
  void load(const std::string& name, Entry& entry, Opening opening, Lock& lock);
  void give_up(const std::string& name, Entry& entry, bool known, Lock& lock);
  void forget_one_on_disk();
  bool save_or_lose(const std::string& name);
  void touch(Entry& entry);
  void unload(Entry& entry);
  void drop(Entry& entry);
  void drop_if_lost(Entry& entry);
  static bool is_untouched(const Entry& entry);
  static bool attempt(Lock& lock, const std::function<bool()>& work);
  void make_room(Lock& lock);

  const StreamStore& store_;
  const std::string model_;
  const Open open_;
  const TableOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  std::map<std::string, Entry> entries_;
  uint64_t uses_ = 0;
  std::map<uint64_t, Entry*> by_use_;  // those in memory, by last_use
  int64_t in_memory_ = 0;              // with those on their way there
  int64_t skipped_ = 0;
  std::string last_unsaved_;  // see next_unsaved()
};

}  // namespace sotta
