#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/fleet/redis_store.h"
#include "serve/streams/stream_watch.h"

namespace sotta {

class ServedModel;

// Durations, counted by the smallest bound that they do not exceed.
struct DurationHistogram {
  static constexpr std::array<double, 14> kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
      0.1,    0.25,  0.5,    1,     2.5,  5,     10};  // seconds

  std::array<int64_t, kBounds.size() + 1> counts = {};  // the last: above all
  double sum = 0;

  void add(double seconds);
};

// What is counted of one model since the process began.
struct ModelCounts {
  DurationHistogram
      request_seconds;              // of answered ones, from arrival to answer
  DurationHistogram queue_seconds;  // the part of it before they were computed
  DurationHistogram update_seconds;
  int64_t windows = 0;
  int64_t updates = 0;  // applied
  int64_t guard_trips = 0;
  std::array<int64_t, kVerdicts> verdicts = {};
};

// Thread-safe.
class ModelMetrics {
 public:
  void add_answer(double queue_seconds, double request_seconds);
  void add_event(const StreamEvent& event);
  ModelCounts counts() const;

 private:
  mutable std::mutex mutex_;
  ModelCounts counts_;
};

// What is not one model's.
struct ServerCounts {
  size_t waiting = 0;              // requests in queues
  std::map<int, int64_t> refused;  // by HTTP status

  std::optional<FleetCounts> fleet;  // none: it serves alone
  int64_t forwarded = 0;             // requests, to other servers
};

// /metrics, in the text format of Prometheus. No metric is one stream's own:
// there may be 10,000.
std::string metrics_text(const std::vector<const ServedModel*>& models,
                         const ServerCounts& server);

}  // namespace sotta
