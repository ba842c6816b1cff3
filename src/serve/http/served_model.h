#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/models/classifier.h"

#include "serve/http/event_hub.h"
#include "serve/http/metrics.h"
#include "serve/streams/stream_answer.h"
#include "serve/streams/stream_storage.h"
#include "serve/streams/stream_table.h"

namespace sotta {

struct ModelSettings {
  std::string name;
  std::shared_ptr<const Classifier> network;
  std::string checksum;  // of its weights: whose states are its own

  std::string method = "sotta";
  Preset preset = Preset::kClean;
  OptionMap changes;  // of the method's options
  GuardOptions guard;
  int64_t window = 64;
  uint64_t seed = 0;  // every stream's

  bool journal = false;  // see ServedStreamOptions

  // Compute passes of several streams together (StreamBatch), on a CPU by so
  // many threads? 0: no. A warning says if that gains nothing.
  int64_t batch_threads = 0;

  TableOptions table;
};

// How requests for one model went.
struct ModelStatistics {
  int64_t requests = 0;  // answered
  int64_t failed = 0;
  int64_t images = 0;
  int64_t queue_ns = 0;  // of those answered
  int64_t compute_ns = 0;
  int64_t failed_ns = 0;
  int64_t last_ms = 0;  // since 1970, of the last answer
};

// A network, the streams that adapt it, and the network as it was loaded for
// requests without a stream. Thread-safe.
class ServedModel {
 public:
  // Throws Error(kInvalid) for settings that no stream could be made with. The
  // store must outlive it.
  ServedModel(ModelSettings settings, const StreamStore& store);

  const std::string& name() const { return settings_.name; }
  const ModelSettings& settings() const { return settings_; }
  const Classifier& network() const { return *settings_.network; }
  StreamTable& streams() { return streams_; }
  const StreamTable& streams() const { return streams_; }

  // What the network as loaded says; learns nothing.
  StreamAnswer answer(const at::Tensor& images) const;

  // Events of all its streams.
  EventHub& events() { return events_; }
  const EventHub& events() const { return events_; }

  ModelMetrics& metrics() { return metrics_; }
  const ModelMetrics& metrics() const { return metrics_; }

  void count(const ModelStatistics& more);
  ModelStatistics statistics() const;

 private:
  std::unique_ptr<ServedStream> open(std::unique_ptr<StreamStorage> storage);
  std::unique_ptr<Adapter> make_adapter(const std::string& method) const;
  void warn_of_batches(const Adapter& adapter) const;

  const ModelSettings settings_;
  const std::string identity_;
  std::unique_ptr<StreamBatch> batch_;  // none without batch_threads
  std::unique_ptr<Adapter> source_;
  EventHub events_;
  ModelMetrics metrics_;
  StreamTable streams_;
  mutable std::mutex mutex_;
  ModelStatistics statistics_;
};

}  // namespace sotta
