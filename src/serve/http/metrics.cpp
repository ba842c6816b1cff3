#include "serve/http/metrics.h"

#include <algorithm>
#include <cstdio>

#include "sotta/core/version.h"

#include "serve/http/served_model.h"

namespace sotta {
namespace {

using Lock = std::lock_guard<std::mutex>;

// A label's value: backslash, quote and line end have to be escaped.
std::string label_text(const std::string& value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '\\' || letter == '"') text.push_back('\\');
    if (letter == '\n')
      text += "\\n";
    else
      text.push_back(letter);
  }
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// Writes families of metrics, one after another.
class Writer {
 public:
  void family(const std::string& name, const char* type, const char* help) {
    name_ = name;
    text_ +=
        "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }

  void sample(const std::string& labels, const std::string& value,
              const char* suffix = "") {
    text_ += name_ + suffix + (labels.empty() ? "" : "{" + labels + "}") + " " +
             value + "\n";
  }
  void sample(const std::string& labels, int64_t value) {
    sample(labels, std::to_string(value));
  }

  void histogram(const std::string& labels,
                 const DurationHistogram& histogram) {
    int64_t count = 0;
    for (size_t i = 0; i < histogram.counts.size(); ++i) {
      count += histogram.counts[i];
      const std::string bound = i < DurationHistogram::kBounds.size()
                                    ? number(DurationHistogram::kBounds[i])
                                    : "+Inf";
      sample(labels + ",le=\"" + bound + "\"", std::to_string(count),
             "_bucket");
    }
    sample(labels, number(histogram.sum), "_sum");
    sample(labels, std::to_string(count), "_count");
  }

  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

// One model, read once for all its families.
struct Read {
  std::string label;
  ModelStatistics statistics;
  ModelCounts counts;
  StreamTable::Census census;
  size_t listeners;
  int64_t skipped;  // images
};

std::vector<Read> read_all(const std::vector<const ServedModel*>& models) {
  std::vector<Read> all;
  for (const ServedModel* model : models)
    all.push_back({"model=\"" + label_text(model->name()) + "\"",
                   model->statistics(), model->metrics().counts(),
                   model->streams().census(), model->events().listeners(),
                   model->streams().skipped()});
  return all;
}

void write_counters(Writer& writer, const std::vector<Read>& models) {
  const auto family = [&](const char* name, const char* type, const char* help,
                          const auto& value) {
    writer.family(name, type, help);
    for (const Read& model : models)
      writer.sample(model.label, static_cast<int64_t>(value(model)));
  };
  family("sotta_requests_total", "counter",
         "Requests for inference that were answered.",
         [](const Read& m) { return m.statistics.requests; });
  family("sotta_failed_requests_total", "counter",
         "Requests for inference that were refused once they were read.",
         [](const Read& m) { return m.statistics.failed; });
  family("sotta_images_total", "counter", "Images answered.",
         [](const Read& m) { return m.statistics.images; });
  family("sotta_windows_total", "counter",
         "Windows of streams that ended, learnt from or not.",
         [](const Read& m) { return m.counts.windows; });
  family("sotta_updates_total", "counter", "Updates applied.",
         [](const Read& m) { return m.counts.updates; });
  family("sotta_guard_trips_total", "counter", "Updates that a guard undid.",
         [](const Read& m) { return m.counts.guard_trips; });
  family("sotta_skipped_images_total", "counter",
         "Images answered and not learnt from, as updates did not keep up.",
         [](const Read& m) { return m.skipped; });
  family("sotta_streams", "gauge", "Streams known.",
         [](const Read& m) { return m.census.known; });
  family("sotta_resident_streams", "gauge", "Streams in memory.",
         [](const Read& m) { return m.census.resident; });
  family("sotta_frozen_streams", "gauge", "Streams that learn nothing.",
         [](const Read& m) { return m.census.frozen; });
  family("sotta_unsaved_streams", "gauge",
         "Streams that cannot be saved or updated.",
         [](const Read& m) { return m.census.unsaved; });
  family("sotta_troubled_streams", "gauge",
         "Streams that a person should look at, frozen ones among them.",
         [](const Read& m) { return m.census.in_trouble; });
  family("sotta_event_listeners", "gauge", "Readers of server-sent events.",
         [](const Read& m) { return m.listeners; });
}

void write_verdicts(Writer& writer, const std::vector<Read>& models) {
  writer.family("sotta_verdicts_total", "counter",
                "Images of windows that ended, by what was made of them.");
  for (const Read& model : models)
    for (int i = 0; i < kVerdicts; ++i)
      writer.sample(
          model.label + ",verdict=\"" + to_text(static_cast<Verdict>(i)) + "\"",
          model.counts.verdicts[static_cast<size_t>(i)]);
}

void write_histograms(Writer& writer, const std::vector<Read>& models) {
  const auto family = [&](const char* name, const char* help,
                          DurationHistogram ModelCounts::*histogram) {
    writer.family(name, "histogram", help);
    for (const Read& model : models)
      writer.histogram(model.label, model.counts.*histogram);
  };
  family("sotta_request_duration_seconds",
         "From a request's arrival to its answer.",
         &ModelCounts::request_seconds);
  family("sotta_queue_duration_seconds",
         "What requests waited before they were computed.",
         &ModelCounts::queue_seconds);
  family("sotta_update_duration_seconds", "What updates took.",
         &ModelCounts::update_seconds);
}

void write_fleet(Writer& writer, const ServerCounts& server) {
  const FleetCounts& fleet = *server.fleet;
  const auto sample = [&](const char* name, const char* type, const char* help,
                          int64_t value) {
    writer.family(name, type, help);
    writer.sample("", value);
  };
  sample("sotta_fleet_leases", "gauge", "Streams whose lease this server has.",
         fleet.held);
  sample("sotta_fleet_claims_total", "counter", "Leases taken.", fleet.claims);
  sample("sotta_fleet_lost_streams_total", "counter",
         "Streams dropped as another server has taken them over.", fleet.lost);
  sample("sotta_fleet_fenced_saves_total", "counter",
         "Snapshots that came too late and were refused.", fleet.fenced);
  sample("sotta_fleet_forwarded_requests_total", "counter",
         "Requests answered by the server that has their stream.",
         server.forwarded);
  sample("sotta_fleet_store_away", "gauge",
         "1 while the store of streams cannot be reached.",
         fleet.store_away ? 1 : 0);
}

}  // namespace

void DurationHistogram::add(double seconds) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++counts[static_cast<size_t>(bound - kBounds.begin())];
  sum += seconds;
}

void ModelMetrics::add_answer(double queue_seconds, double request_seconds) {
  const Lock lock(mutex_);
  counts_.queue_seconds.add(queue_seconds);
  counts_.request_seconds.add(request_seconds);
}

void ModelMetrics::add_event(const StreamEvent& event) {
  if (event.kind != StreamEvent::Kind::kWindow) return;
  const WindowFigures& window = *event.window;
  const Lock lock(mutex_);
  ++counts_.windows;
  if (window.learnt) ++counts_.updates;
  if (window.guard) ++counts_.guard_trips;
  if (window.learnt || window.guard)
    counts_.update_seconds.add(window.update_seconds);
  for (size_t i = 0; i < window.verdicts.size(); ++i)
    counts_.verdicts[i] += window.verdicts[i];
}

ModelCounts ModelMetrics::counts() const {
  const Lock lock(mutex_);
  return counts_;
}

std::string metrics_text(const std::vector<const ServedModel*>& models,
                         const ServerCounts& server) {
  Writer writer;
  writer.family("sotta_build_info", "gauge", "The program's version.");
  writer.sample("version=\"" + label_text(version()) + "\"", 1);
  writer.family("sotta_waiting_requests", "gauge", "Requests in queues.");
  writer.sample("", static_cast<int64_t>(server.waiting));
  writer.family("sotta_refused_requests_total", "counter",
                "Requests of any kind that were refused, by HTTP status.");
  for (const auto& [status, count] : server.refused)
    writer.sample("status=\"" + std::to_string(status) + "\"", count);
  if (server.fleet) write_fleet(writer, server);
  const std::vector<Read> all = read_all(models);
  write_counters(writer, all);
  write_verdicts(writer, all);
  write_histograms(writer, all);
  return writer.take();
}

}  // namespace sotta
