#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sotta/adapt/adapter.h"

#include "serve/streams/network_answer.h"
#include "serve/streams/request_journal.h"
#include "serve/streams/stream_answer.h"
#include "serve/streams/stream_batch.h"
#include "serve/streams/stream_state.h"
#include "serve/streams/stream_storage.h"
#include "serve/streams/stream_watch.h"

namespace sotta {

struct ServedStreamOptions {
  std::string identity;  // see StreamState

  // Every request reaches the disk before it is answered; else only every
  // update does, and clients send again what came after it.
  bool journal = false;

  // A state is saved after this many images at the latest, although nothing was
  // learnt from them.
  int64_t save_interval = 64;

  // What computes passes of several streams together, and has made the
  // adapter's executor; none: each stream's are computed alone.
  StreamBatch* batch = nullptr;

  // The adapter has a floor. That asks the source model once the method has
  // taken the images, so that Adapter::observe() is not all or nothing.
  bool has_floor = false;

  WatchOptions watch = {};
};

// Where a stream stands.
constexpr const char* kFrozenByRequest = "by request";
struct StreamStatus {
  int64_t next_seq = 0;
  int64_t durable_seq = 0;
  int64_t images = 0;   // learnt from or screened
  int64_t updates = 0;  // applied
  int64_t pending = 0;  // images of the window that is filling
  int64_t guard_trips = 0;
  int64_t skipped = 0;   // images answered and not learnt from, see follow()
  int64_t snapshot = 0;  // the newest on disk; 0 if there is none
  std::string frozen;    // why nothing is learnt; empty if it is
  std::string problem;   // why the disk or the memory refuses; empty if neither
  std::string notice;    // what was found damaged when it was loaded

  // Why it cannot be loaded from what is saved of it; empty if it can.
  std::string unloadable;
  LiveSummary live;
};

// A request that was answered by published() while the stream was busy.
struct AnsweredRequest {
  StreamRequest request;  // with its number
  StreamAnswer answer;
  bool skipped = false;  // too many were waiting: not to be learnt from
  std::optional<double> latency = {};  // seconds, for its figures
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
// When the disk refuses to take a state, or an update fails (memory may run
// out), the stream freezes: requests are answered and not counted, so that
// clients send them again later. Every request tries again first.
//
// Not thread-safe.
class ServedStream {
 public:
  // Restores the newest whole snapshot in the storage and repeats the requests
  // in its journals. Throws RequestError(kConflict) if the state is another
  // identity's, Error(kBadFormat) if none of the snapshots is whole.
  ServedStream(std::unique_ptr<Adapter> adapter,
               std::unique_ptr<StreamStorage> storage,
               ServedStreamOptions options);

  // Throws StreamElsewhere where the stream was found to be taken over;
  // RequestError: kConflict for a request out of turn or one whose
  // answer is forgotten, kBadRequest for images of another size than before;
  // and what the network throws. Nothing was learnt from the request then, nor
  // where `begin` throws, which is called when the work before it is done.
  using Begin = std::function<void()>;
  InferResult infer(const StreamRequest& request, const Begin& begin = nullptr);

  // The network that predicts now; lives as long as the stream at the most.
  std::shared_ptr<const PublishedNetwork> published() const {
    return std::make_shared<const PublishedNetwork>(*adapter_);
  }

  // Counts a request that published() has answered, keeps that answer, and
  // learns from its images. False, and nothing has changed, if it is not the
  // next: one before it has failed. Throws as infer() does.
  bool follow(const AnsweredRequest& ahead);

  // The work that an answer need not wait for: the update that is due, and
  // saving, also of what could not be saved before. infer() does it first if
  // nobody else has.
  bool has_work() const;
  void finish();

  // Each changes the stream between two requests, and returns when that is on
  // disk; throws RequestError(kUnavailable) if the disk refuses, and the change
  // lasts until the process ends, or, of a stream that nothing is saved of and
  // that has had no request, is as good as not made. The state that reset() and
  // roll_back() leave can be rolled back to.
  void set_frozen(bool frozen);
  void reset();
  void roll_back(int64_t snapshot);  // throws as StreamStorage::read()
  int64_t keep_snapshot();           // returns its number
  void replace_state(const StreamState& state);

  // Saves what is not on disk. Whether all is.
  bool save_all();

  StreamStatus status() const;
  StreamState state() const;
  std::vector<SnapshotEntry> snapshots() const {
    return storage_->describe_snapshots();
  }

  // Where it is kept; claimed and looked at by whoever uses the stream.
  StreamStorage& storage() { return *storage_; }
  const StreamStorage& storage() const { return *storage_; }

  // Its figures, and the latency of requests for them.
  StreamWatch& watch() { return watch_; }
  const StreamWatch& watch() const { return watch_; }

  // The norm layers as adapted, under the names of a weights file.
  TensorFile norm() const;

 private:
  void say(const std::string& problem);
  void set_problem(const std::string& problem);
  void restore(const StreamState& state);
  void repeat(const std::vector<StreamRequest>& requests);
  InferResult reply(StreamAnswer answer) const;
  InferResult stored_reply(int64_t seq) const;
  void check_size(const StreamRequest& request) const;
  template <class Work>
  auto all_or_nothing(const Work& work);
  StreamAnswer take(const StreamRequest& request);
  StreamAnswer observe(const at::Tensor& images);
  StreamAnswer predict(const at::Tensor& images) const;
  Observation observe_part(const at::Tensor& images);
  UpdateReport update();
  void learn();
  void keep_on_disk(const StreamRequest& request);
  void save(bool keep = false);
  void retain_present();
  void save_change();
  std::string why_frozen() const;

  std::unique_ptr<Adapter> adapter_;
  std::unique_ptr<StreamStorage> storage_;
  ServedStreamOptions options_;
  std::unique_ptr<RequestJournal> journal_;  // none before the first snapshot

  int64_t next_seq_ = 0;
  int64_t durable_seq_ = 0;
  bool frozen_ = false;
  std::string guard_;
  int64_t guard_trips_ = 0;
  int64_t skipped_ = 0;
  AnswerLog answers_;

  int64_t snapshot_ = 0;
  int64_t unsaved_images_ = 0;
  bool dirty_ = false;   // anything changed since the last snapshot
  bool learnt_ = false;  // an update did
  std::string problem_;  // why it could not be saved or updated; else empty
  std::string notice_;
  StreamWatch watch_;
};

}  // namespace sotta
