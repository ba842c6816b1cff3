#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sotta/adapt/adapter.h"

#include "serve/streams/request_journal.h"
#include "serve/streams/state_store.h"
#include "serve/streams/stream_answer.h"
#include "serve/streams/stream_state.h"

namespace sotta {

// What an adapter's network says now of images on the CPU, learning nothing.
// Does not look at their size.
StreamAnswer answer_with(const Adapter& adapter, const at::Tensor& images);

struct StreamOptions {
  std::string identity;  // see StreamState

  // Every request reaches the disk before it is answered; else only every
  // update does, and clients send again what came after it.
  bool journal = false;

  // A state is saved after this many images at the latest, although nothing was
  // learnt from them.
  int64_t save_interval = 64;
};

// Where a stream stands.
struct StreamStatus {
  int64_t next_seq = 0;
  int64_t durable_seq = 0;
  int64_t images = 0;   // learnt from or screened
  int64_t updates = 0;  // applied
  int64_t pending = 0;  // images of the window that is filling
  int64_t guard_trips = 0;
  int64_t snapshot = 0;  // the newest on disk; 0 if there is none
  std::string frozen;    // why nothing is learnt; empty if it is
  std::string problem;   // why the disk refuses; empty if it does not
  std::string notice;    // what was found damaged when it was loaded
};

// One adapter, what it was asked and answered, and its files.
//
// Requests are counted from 0. The next one is processed; an older one gets the
// answer it got before; a later one is refused with the number of the next. So
// each is learnt from once, however often it is sent.
//
// A request is answered before the update that it completes, and by a network
// that has seen every update of the requests before it: observe() and update()
// of Adapter, call by call.
//
// When the disk refuses to take a state the stream freezes: requests are
// answered and not counted, so that clients send them again later. Every
// request tries the disk again.
//
// Not thread-safe.
class ServedStream {
 public:
  // Restores the newest whole snapshot in the folder and repeats the requests
  // in its journals. Throws RequestError(kConflict) if the state is another
  // identity's, Error(kBadFormat) if none of the snapshots is whole.
  ServedStream(std::unique_ptr<Adapter> adapter, StreamFolder folder,
               StreamOptions options);

  // Throws RequestError: kConflict for a request out of turn or one whose
  // answer is forgotten, kBadRequest for images of another size than before.
  InferResult infer(const StreamRequest& request);

  // The work that an answer need not wait for: the update that is due, and
  // saving. infer() does it first if nobody else has.
  bool has_work() const;
  void finish();

  // Each changes the stream between two requests, and returns when that is on
  // disk; throws RequestError(kUnavailable) if the disk refuses, and the change
  // lasts until the process ends.
  void set_frozen(bool frozen);
  void reset();
  void roll_back(int64_t snapshot);  // kNotFound if there is none
  int64_t keep_snapshot();           // returns its number
  void replace_state(const StreamState& state);

  // Saves what is not on disk. Whether all is.
  bool save_all();

  StreamStatus status() const;
  StreamState state() const;
  std::vector<SnapshotEntry> snapshots() const { return folder_.snapshots(); }

  // The norm layers as adapted, under the names of a weights file.
  TensorFile norm() const;

 private:
  void restore(const StreamState& state);
  void repeat(const std::vector<StreamRequest>& requests);
  InferResult reply(StreamAnswer answer) const;
  InferResult stored_reply(int64_t seq) const;
  void check_size(const StreamRequest& request) const;
  StreamAnswer take(const StreamRequest& request);
  StreamAnswer observe(const at::Tensor& images);
  void learn();
  void keep_on_disk(const StreamRequest& request);
  void save(bool keep = false);
  void save_change();
  std::string why_frozen() const;

  std::unique_ptr<Adapter> adapter_;
  StreamFolder folder_;
  StreamOptions options_;
  std::unique_ptr<RequestJournal> journal_;  // none before the first snapshot

  int64_t next_seq_ = 0;
  int64_t durable_seq_ = 0;
  bool frozen_ = false;
  std::string guard_;
  int64_t guard_trips_ = 0;
  AnswerLog answers_;

  int64_t snapshot_ = 0;
  int64_t unsaved_images_ = 0;
  bool dirty_ = false;   // anything changed since the last snapshot
  bool learnt_ = false;  // an update did
  std::string problem_;  // why the disk refused; empty while it does not
  std::string notice_;
};

}  // namespace sotta
