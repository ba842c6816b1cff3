#include "serve/http/documents.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "sotta/core/version.h"

#include "serve/http/live_documents.h"
#include "serve/protocol/infer_request.h"
#include "serve/streams/stream_trouble.h"

namespace sotta {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string dump(const OrderedJson& document) {
  return document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

struct TensorForm {
  const char* name;
  const char* datatype;
  std::vector<int64_t> shape;  // -1: any
};

std::vector<TensorForm> inputs_of(const ServedModel& model) {
  return {{kInputName, "UINT8", {-1, model.network().channels(), -1, -1}}};
}

std::vector<TensorForm> outputs_of(const ServedModel& model) {
  std::vector<TensorForm> forms;
  for (const OutputForm& output : kOutputs) {
    forms.push_back({output.name, output.datatype, {-1}});
    if (std::string_view(output.name) == kLogits)
      forms.back().shape.push_back(model.network().classes());
  }
  return forms;
}

std::string platform_of(const ServedModel& model) {
  return "sotta_" + model.network().engine();
}

OrderedJson forms(const std::vector<TensorForm>& tensors) {
  OrderedJson list = OrderedJson::array();
  for (const TensorForm& tensor : tensors)
    list.push_back({{"name", tensor.name},
                    {"datatype", tensor.datatype},
                    {"shape", tensor.shape}});
  return list;
}

// As Triton's model configuration names types.
OrderedJson config_forms(const std::vector<TensorForm>& tensors) {
  OrderedJson list = OrderedJson::array();
  for (const TensorForm& tensor : tensors) {
    const std::string type = tensor.datatype;
    list.push_back(
        {{"name", tensor.name},
         {"data_type", "TYPE_" + (type == "BYTES" ? "STRING" : type)},
         {"dims", tensor.shape}});
  }
  return list;
}

std::string notice_of(const StreamStatus& status) {
  return status.unloadable.empty() ? status.notice
                                   : "cannot be loaded: " + status.unloadable;
}

OrderedJson status_fields(const std::string& name, const StreamStatus& status) {
  return {{"name", name},
          {"next_seq", status.next_seq},
          {"durable_seq", status.durable_seq},
          {"images", status.images},
          {"updates", status.updates},
          {"pending", status.pending},
          {"guard_trips", status.guard_trips},
          {"skipped", status.skipped},
          {"snapshot", status.snapshot},
          {"frozen", status.frozen},
          {"notice", notice_of(status)}};
}

OrderedJson listed_fields(const std::vector<StreamTable::Listed>& streams) {
  OrderedJson list = OrderedJson::array();
  for (const auto& stream : streams) {
    OrderedJson fields = status_fields(stream.name, stream.status);
    fields["resident"] = stream.resident;
    fields["trouble"] = find_trouble(stream.status).reason;
    fields["live"] = summary_fields(stream.status.live);
    if (!stream.server.empty()) fields["server"] = stream.server;
    list.push_back(std::move(fields));
  }
  return list;
}

OrderedJson duration(int64_t count, int64_t ns) {
  return {{"count", count}, {"ns", ns}};
}

OrderedJson statistics_of(const ServedModel& model) {
  const ModelStatistics all = model.statistics();
  const int64_t count = all.requests;
  return {{"name", model.name()},
          {"version", kModelVersion},
          {"last_inference", all.last_ms},
          {"inference_count", all.images},
          {"execution_count", count},
          {"inference_stats",
           {{"success", duration(count, all.queue_ns + all.compute_ns)},
            {"fail", duration(all.failed, all.failed_ns)},
            {"queue", duration(count, all.queue_ns)},
            {"compute_input", duration(count, 0)},
            {"compute_infer", duration(count, all.compute_ns)},
            {"compute_output", duration(count, 0)},
            {"cache_hit", duration(0, 0)},
            {"cache_miss", duration(0, 0)}}},
          {"batch_stats", OrderedJson::array()}};
}

const char* text_of(ModelReadiness state) {
  switch (state) {
    case ModelReadiness::kLoading:
      return "LOADING";
    case ModelReadiness::kReady:
      return "READY";
    case ModelReadiness::kUnloading:
      return "UNLOADING";
    case ModelReadiness::kUnavailable:
      return "UNAVAILABLE";
  }
  return "UNKNOWN";
}

}  // namespace

std::string server_document() {
  return dump({{"name", "sotta"},
               {"version", version()},
               {"extensions",
                {"binary_tensor_data", "classification", "sequence",
                 "sequence(string_id)", "model_repository",
                 "model_repository(unload_dependents)", "model_configuration",
                 "statistics", "adaptation"}}});
}

std::string model_document(const ServedModel& model) {
  return dump({{"name", model.name()},
               {"versions", {kModelVersion}},
               {"platform", platform_of(model)},
               {"inputs", forms(inputs_of(model))},
               {"outputs", forms(outputs_of(model))}});
}

std::string config_document(const ServedModel& model) {
  const ModelSettings& settings = model.settings();
  const auto text = [](const std::string& value) {
    return OrderedJson{{"string_value", value}};
  };
  return dump({{"name", model.name()},
               {"platform", platform_of(model)},
               {"backend", "sotta"},
               {"max_batch_size", 0},  // the first dimension is the batch
               {"input", config_forms(inputs_of(model))},
               {"output", config_forms(outputs_of(model))},
               {"sequence_batching", OrderedJson::object()},
               {"parameters",
                {{"method", text(settings.method)},
                 {"window", text(std::to_string(settings.window))},
                 {"guard", text(settings.guard.action)},
                 {"weights", text(settings.checksum)}}}});
}

std::string ready_document(const std::string& model) {
  return dump({{"name", model}, {"ready", true}});
}

std::string repository_document(
    const std::vector<ModelRepository::Listed>& models) {
  OrderedJson list = OrderedJson::array();
  for (const auto& model : models)
    list.push_back({{"name", model.name},
                    {"version", kModelVersion},
                    {"state", text_of(model.state)},
                    {"reason", model.reason}});
  return dump(list);
}

std::string statistics_document(const std::vector<const ServedModel*>& models) {
  OrderedJson list = OrderedJson::array();
  for (const ServedModel* model : models)
    list.push_back(statistics_of(*model));
  return dump({{"model_stats", std::move(list)}});
}

std::string stream_document(const std::string& name,
                            const StreamStatus& status) {
  return dump(status_fields(name, status));
}

std::string stream_document(const std::string& name, const StreamStatus& status,
                            const LiveFigures& figures) {
  OrderedJson document = status_fields(name, status);
  document["live"] = live_fields(figures);
  return dump(document);
}

std::string streams_document(const std::vector<StreamTable::Listed>& streams,
                             bool more) {
  OrderedJson document = {{"streams", listed_fields(streams)}};
  if (more) document["next"] = streams.back().name;
  return dump(document);
}

std::string streams_document(const StreamTable::Ranked& ranked) {
  return dump(
      {{"streams", listed_fields(ranked.streams)}, {"total", ranked.total}});
}

std::string snapshots_document(const std::vector<SnapshotEntry>& snapshots) {
  OrderedJson list = OrderedJson::array();
  for (const SnapshotEntry& entry : snapshots) {
    OrderedJson fields = {{"number", entry.number}, {"kept", entry.kept}};
    if (entry.next_seq) fields["next_seq"] = *entry.next_seq;
    if (entry.updates) fields["updates"] = *entry.updates;
    if (entry.saved_ms) fields["saved_ms"] = *entry.saved_ms;
    list.push_back(std::move(fields));
  }
  return dump({{"snapshots", std::move(list)}});
}

}  // namespace sotta
