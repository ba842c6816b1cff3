#include "serve/http/documents.h"

#include <functional>

#include <nlohmann/json.hpp>

#include "sotta/core/version.h"

#include "serve/protocol/infer_request.h"

namespace sotta {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kVersion = "1";  // of every model

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
  return {{kOutputNames[0], "FP32", {-1, model.network().classes()}},
          {kOutputNames[1], "INT64", {-1}},
          {kOutputNames[2], "FP32", {-1}},
          {kOutputNames[3], "BYTES", {-1}}};
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

OrderedJson status_fields(const std::string& name, const StreamStatus& status) {
  return {{"name", name},
          {"next_seq", status.next_seq},
          {"durable_seq", status.durable_seq},
          {"images", status.images},
          {"updates", status.updates},
          {"pending", status.pending},
          {"guard_trips", status.guard_trips},
          {"snapshot", status.snapshot},
          {"frozen", status.frozen},
          {"notice", status.notice}};
}

OrderedJson duration(int64_t count, int64_t ns) {
  return {{"count", count}, {"ns", ns}};
}

OrderedJson statistics_of(const ServedModel& model) {
  const ModelStatistics all = model.statistics();
  const int64_t count = all.requests;
  return {{"name", model.name()},
          {"version", kVersion},
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

}  // namespace

std::string server_document() {
  return dump({{"name", "sotta"},
               {"version", version()},
               {"extensions",
                {"binary_tensor_data", "classification", "sequence",
                 "sequence(string_id)", "model_configuration", "statistics",
                 "adaptation"}}});
}

std::string model_document(const ServedModel& model) {
  return dump({{"name", model.name()},
               {"versions", {kVersion}},
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

std::string repository_document(const std::vector<const ServedModel*>& models) {
  OrderedJson list = OrderedJson::array();
  for (const ServedModel* model : models)
    list.push_back({{"name", model->name()},
                    {"version", kVersion},
                    {"state", "READY"},
                    {"reason", ""}});
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

std::string streams_document(const std::vector<StreamTable::Listed>& streams,
                             bool more) {
  OrderedJson list = OrderedJson::array();
  for (const auto& stream : streams) {
    OrderedJson fields = status_fields(stream.name, stream.status);
    fields["resident"] = stream.resident;
    list.push_back(std::move(fields));
  }
  OrderedJson document = {{"streams", std::move(list)}};
  if (more) document["next"] = streams.back().name;
  return dump(document);
}

std::string snapshots_document(const std::vector<SnapshotEntry>& snapshots) {
  OrderedJson list = OrderedJson::array();
  for (const SnapshotEntry& entry : snapshots)
    list.push_back({{"number", entry.number}, {"kept", entry.kept}});
  return dump({{"snapshots", std::move(list)}});
}

std::string metrics_text(const std::vector<const ServedModel*>& models,
                         size_t waiting) {
  std::string text =
      "# HELP sotta_waiting_requests Requests in queues.\n"
      "# TYPE sotta_waiting_requests gauge\n"
      "sotta_waiting_requests " +
      std::to_string(waiting) + "\n";
  const auto family =
      [&](const std::string& name, const std::string& kind,
          const std::string& help,
          const std::function<std::string(const ServedModel&)>& value) {
        text += "# HELP " + name + " " + help + "\n# TYPE " + name + " " +
                kind + "\n";
        for (const ServedModel* model : models)
          text += name + "{model=\"" + label_text(model->name()) + "\"} " +
                  value(*model) + "\n";
      };
  const auto seconds = [](int64_t ns) {
    return std::to_string(static_cast<double>(ns) * 1e-9);
  };
  family("sotta_requests_total", "counter", "Requests answered.",
         [](const auto& m) { return std::to_string(m.statistics().requests); });
  family("sotta_failed_requests_total", "counter", "Requests refused.",
         [](const auto& m) { return std::to_string(m.statistics().failed); });
  family("sotta_images_total", "counter", "Images answered.",
         [](const auto& m) { return std::to_string(m.statistics().images); });
  family("sotta_queue_seconds_total", "counter",
         "Time that answered requests waited.",
         [&](const auto& m) { return seconds(m.statistics().queue_ns); });
  family("sotta_compute_seconds_total", "counter",
         "Time that answered requests were computed.",
         [&](const auto& m) { return seconds(m.statistics().compute_ns); });
  family("sotta_streams", "gauge", "Streams known.",
         [](const auto& m) { return std::to_string(m.streams().size()); });
  family("sotta_resident_streams", "gauge", "Streams in memory.",
         [](const auto& m) { return std::to_string(m.streams().resident()); });
  return text;
}

}  // namespace sotta
