#include "serve/streams/stream_table.h"

#include <algorithm>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/request_error.h"
#include "serve/streams/without_folder.h"

namespace sotta {

StreamTable::StreamTable(const StreamStore& store, std::string model, Open open,
                         const TableOptions& options)
    : store_(store),
      model_(std::move(model)),
      open_(std::move(open)),
      options_(options) {
  // Of a shared one there may be more than anyone asks this server for.
  for (const std::string& name : store_.streams(model_))
    entries_[name].status = saved_status(name);
}

void StreamTable::use(const std::string& name, bool create,
                      const std::function<void(ServedStream&)>& work) {
  use(name, create ? Opening::kCreate : Opening::kKnown, work);
}

void StreamTable::replace(const std::string& name,
                          const std::function<void(ServedStream&)>& work) {
  use(name, Opening::kReplace, work);
}

void StreamTable::use(const std::string& name, Opening opening,
                      const std::function<void(ServedStream&)>& work) {
  Lock lock(mutex_);
  const bool known = entries_.count(name) > 0;
  const bool create = opening != Opening::kKnown;
  Entry& entry = take(name, create || store_.is_shared(), lock);
  try {
    if (entry.stream && store_.is_shared()) claim(entry, create, lock);
    if (!entry.stream) load(name, entry, opening, lock);
    touch(entry);
    if (!entry.ahead.empty()) catch_up(entry, lock);
    lock.unlock();
    work(*entry.stream);
    auto network = publish(*entry.stream, entry.stream->has_work());
    lock.lock();
    entry.network = std::move(network);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    // What could not be loaded was not replaced either.
    if (opening == Opening::kReplace && is_untouched(entry)) drop(entry);
    give_up(name, entry, known, lock);
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

// None where answers wait for updates, or there are none to wait for.
std::shared_ptr<const PublishedNetwork> StreamTable::publish(
    const ServedStream& stream, bool works) const {
  return options_.max_behind > 0 && works ? stream.published() : nullptr;
}

// The work that answers do not wait for, then the requests that did not wait.
void StreamTable::catch_up(Entry& entry, Lock& lock) {
  ServedStream& stream = *entry.stream;
  for (;;) {
    std::shared_ptr<const PublishedNetwork> network;
    attempt(lock, [&] {
      stream.finish();
      network = publish(stream, /*works=*/true);
      return true;
    });
    entry.network = std::move(network);
    note_status(entry);
    if (entry.ahead.empty()) return;
    // It stays where it is while others come behind it.
    const AnsweredRequest& next = entry.ahead.front();
    attempt(lock, [&] { return stream.follow(next); });
    entry.ahead.pop_front();
  }
}

void StreamTable::note_status(Entry& entry) const {
  if (!entry.stream) return;
  entry.status = entry.stream->status();
  if (!entry.ahead.empty()) return;
  entry.next_seq = entry.status.next_seq;
  entry.skipped = entry.status.skipped;
  if (!entry.stream->has_work()) entry.network.reset();
}

StreamTable::Inference StreamTable::infer(const std::string& name,
                                          const StreamRequest& request,
                                          const Latency& latency,
                                          const ServedStream::Begin& begin) {
  if (auto ahead = answer_ahead(name, request, latency))
    return {std::move(*ahead), /*has_work=*/true};
  Inference inference;
  use(name, /*create=*/true, [&](ServedStream& stream) {
    inference.result = stream.infer(request, begin);
    inference.has_work = stream.has_work();
    if (latency) stream.watch().add_latency(latency());
  });
  return inference;
}

// None where the stream itself has to answer: it has no work to do, too many
// are ahead of it, or the request is not simply the next.
std::optional<InferResult> StreamTable::answer_ahead(
    const std::string& name, const StreamRequest& request,
    const Latency& latency) {
  Lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = found->second;
  const auto is_next = [&] {
    return request.seq.value_or(entry.next_seq) == entry.next_seq;
  };
  const auto network = entry.network;
  if (!network || !network->fits(request.images) || request.reset ||
      !is_next() || !entry.status.problem.empty() ||
      entry.ahead.size() >= options_.max_ahead)
    return std::nullopt;
  entry.answering = true;
  StreamAnswer answer;
  const bool answered = attempt(lock, [&] {
    answer = network->answer(request.images);
    return true;
  });
  entry.answering = false;
  given_back_.notify_all();
  // A request before it may have failed meanwhile.
  if (!answered || !is_next()) return std::nullopt;
  AnsweredRequest ahead{request, std::move(answer), false};
  if (latency) ahead.latency = latency();
  return put_ahead(entry, std::move(ahead));
}

InferResult StreamTable::put_ahead(Entry& entry, AnsweredRequest ahead) {
  const at::Tensor images = ahead.request.images;
  const bool learns = ahead.request.adapt && entry.status.frozen.empty();
  ahead.skipped = learns && is_behind(entry, images.size(0));
  ahead.request.seq = ahead.answer.seq = entry.next_seq++;
  if (ahead.skipped) {
    entry.skipped += images.size(0);
    skipped_ += images.size(0);
  } else if (learns) {
    std::fill(ahead.answer.verdicts.begin(), ahead.answer.verdicts.end(),
              Verdict::kPending);
  }
  // Many may wait, and of those that nothing is learnt from only the number
  // of images counts.
  if (ahead.skipped || !learns)
    ahead.request.images = images.slice(2, 0, 0).clone();
  entry.ahead.push_back(ahead);
  return {std::move(ahead.answer), entry.next_seq, entry.status.durable_seq,
          entry.status.frozen, entry.skipped};
}

// Whether more images than max_behind would wait to be learnt from.
bool StreamTable::is_behind(const Entry& entry, int64_t images) const {
  int64_t waiting = entry.status.pending;
  for (const AnsweredRequest& one : entry.ahead)
    if (!one.skipped && one.request.adapt)
      waiting += one.request.images.size(0);
  return waiting > 0 && waiting + images > options_.max_behind;
}

// Whether all of a busy stream is on disk, so that it may leave the memory.
bool StreamTable::save_all_of(Entry& entry, Lock& lock) {
  if (!entry.ahead.empty()) catch_up(entry, lock);
  const bool saved = attempt(lock, [&] { return entry.stream->save_all(); });
  return saved && entry.ahead.empty() && !entry.answering;
}

// Another thread that loads meanwhile finds the place taken.
void StreamTable::load(const std::string& name, Entry& entry, Opening opening,
                       Lock& lock) {
  make_room(lock);
  ++in_memory_;
  const std::string before = std::exchange(entry.status.unloadable, "");
  lock.unlock();
  std::unique_ptr<ServedStream> stream;
  try {
    stream = open_stored(name, opening);
  } catch (const Error& error) {  // its files
    lock.lock();
    --in_memory_;
    entry.status.unloadable = without_folder(first_line(error));
    if (entry.status.unloadable != before)
      log(LogLevel::kWarning, first_line(error));
    throw;
  } catch (const RequestError& error) {  // a state of another method, say
    lock.lock();
    --in_memory_;
    if (error.status() != HttpStatus::kConflict) throw;
    entry.status.unloadable = error.what();
    if (entry.status.unloadable != before)
      log(LogLevel::kWarning, model_ + ", " + name + ": " + error.what());
    throw;
  } catch (...) {
    lock.lock();
    --in_memory_;
    throw;
  }
  lock.lock();
  entry.stream = std::move(stream);
  if (!entry.figures.windows().empty())
    entry.stream->watch().set_figures(std::exchange(entry.figures, {}));
}

// New, where it is to be replaced and none of its snapshots is whole.
std::unique_ptr<ServedStream> StreamTable::open_stored(const std::string& name,
                                                       Opening opening) const {
  const auto open = [&](bool afresh) {
    auto storage = store_.open(model_, name);
    storage->claim(/*create=*/opening != Opening::kKnown);
    if (afresh) storage->forget_saved();
    return open_(std::move(storage));
  };
  try {
    return open(/*afresh=*/false);
  } catch (const Error& error) {
    if (opening != Opening::kReplace || error.kind() != ErrorKind::kBadFormat)
      throw;
  }
  return open(/*afresh=*/true);
}

void StreamTable::touch(Entry& entry) {
  by_use_.erase(entry.last_use);
  entry.last_use = ++uses_;
  by_use_[entry.last_use] = &entry;
}

void StreamTable::unload(Entry& entry) {
  note_status(entry);
  entry.figures = entry.stream->watch().figures();
  drop(entry);
}

void StreamTable::drop(Entry& entry) {
  if (!entry.stream) return;
  by_use_.erase(entry.last_use);
  entry.network.reset();
  entry.stream.reset();
  entry.ahead.clear();
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
  if (store_.is_shared()) forget_one_on_disk();
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
  note_status(entry);
  drop_if_lost(entry);
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
  std::string refusal;
  while (in_memory_ >= options_.max_resident) {
    auto oldest = by_use_.upper_bound(after);
    while (oldest != by_use_.end() &&
           (oldest->second->busy || oldest->second->answering))
      ++oldest;
    if (oldest == by_use_.end())
      throw RequestError(
          HttpStatus::kUnavailable, "stream",
          refusal.empty()
              ? "all streams in memory are in use, send it again later"
              : "the disk refuses those in memory, which have to be saved "
                "first: " +
                    refusal);
    after = oldest->first;
    Entry& entry = *oldest->second;
    entry.busy = true;
    if (save_all_of(entry, lock))
      unload(entry);
    else
      refusal = entry.stream->status().problem;
    drop_if_lost(entry);
    entry.busy = false;
    given_back_.notify_all();
  }
}

void StreamTable::remove(const std::string& name) {
  Lock lock(mutex_);
  const bool known = entries_.count(name) > 0;
  Entry& entry = take(name, /*create=*/store_.is_shared(), lock);
  lock.unlock();
  try {
    std::unique_ptr<StreamStorage> opened;
    if (!entry.stream) opened = store_.open(model_, name);
    StreamStorage& storage = opened ? *opened : entry.stream->storage();
    storage.claim(/*create=*/false);
    storage.remove();
  } catch (...) {
    lock.lock();
    give_up(name, entry, known, lock);
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
  const bool saved = entry.stream && save_all_of(entry, lock);
  if (saved) unload(entry);
  give_back(entry, lock);
  return saved;
}

void StreamTable::finish(const std::string& name) {
  Lock lock(mutex_);
  for (;;) {
    const auto found = entries_.find(name);
    if (found == entries_.end() || !found->second.stream) return;
    Entry& entry = found->second;
    if (!entry.busy) {
      entry.busy = true;
      catch_up(entry, lock);
      return give_back(entry, lock);
    }
    // Whoever has it now does this work first, and who put it on disk has.
    if (options_.max_behind == 0) return;
    given_back_.wait(lock);
  }
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
      if (store_.is_shared())
        saved = save_or_lose(name);
      else
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
