#include "serve/protocol/infer_response.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sotta {
namespace {

// Floats as floats: the shortest text that gives the same bits back.
using FloatJson =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool,
                         int64_t, uint64_t, float>;

// One output in both of its forms: elements for JSON, bytes for binary data.
struct Output {
  const char* datatype;
  std::vector<int64_t> shape;
  FloatJson data = FloatJson::array();
  std::string bytes = {};

  template <class Number>
  void add_number(Number value, bool binary) {
    if (!binary) return data.push_back(value);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof raw);
  }
  void add_text(const std::string& value, bool binary) {
    if (!binary) return data.push_back(value);
    add_number(static_cast<uint32_t>(value.size()), true);
    bytes += value;
  }
};

// "score:class" of the best classes of every image, the best first: Triton's
// classification extension.
Output best_classes(const StreamAnswer& answer, const OutputRequest& wanted) {
  const int64_t count = std::min(wanted.classification, answer.classes);
  Output output{"BYTES", {static_cast<int64_t>(answer.images()), count}};
  std::vector<int64_t> order(static_cast<size_t>(answer.classes));
  for (size_t i = 0; i < answer.images(); ++i) {
    const float* scores =
        answer.logits.data() + i * static_cast<size_t>(answer.classes);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return scores[a] > scores[b];
    });
    for (int64_t k = 0; k < count; ++k) {
      const int64_t label = order[static_cast<size_t>(k)];
      output.add_text(
          std::to_string(scores[label]) + ":" + std::to_string(label),
          wanted.binary);
    }
  }
  return output;
}

Output make_output(const StreamAnswer& answer, const OutputRequest& wanted) {
  if (wanted.classification > 0) return best_classes(answer, wanted);
  const auto images = static_cast<int64_t>(answer.images());
  const auto numbers = [&](const char* type, std::vector<int64_t> shape,
                           const auto& values) {
    Output output{type, std::move(shape)};
    for (const auto value : values)
      output.add_number(value, wanted.binary);
    return output;
  };
  if (wanted.name == "logits")
    return numbers("FP32", {images, answer.classes}, answer.logits);
  if (wanted.name == "label") return numbers("INT64", {images}, answer.labels);
  if (wanted.name == "confidence")
    return numbers("FP32", {images}, answer.confidences);
  Output verdicts{"BYTES", {images}};
  for (const Verdict verdict : answer.verdicts)
    verdicts.add_text(to_text(verdict), wanted.binary);
  return verdicts;
}

FloatJson parameters_of(const InferRequest& request,
                        const InferResult& result) {
  FloatJson parameters = {
      {"stream", request.stream},         {"seq", result.answer.seq},
      {"next_seq", result.next_seq},      {"durable_seq", result.durable_seq},
      {"updates", result.answer.updates}, {"guard", result.answer.guard}};
  if (!result.frozen.empty()) parameters["frozen"] = result.frozen;
  if (result.skipped > 0) parameters["skipped"] = result.skipped;
  return parameters;
}

// Text of ours may hold bytes of a client's; those that are no UTF-8 are
// replaced.
std::string dump(const FloatJson& document) {
  return document.dump(-1, ' ', false, FloatJson::error_handler_t::replace);
}

}  // namespace

InferResponse write_infer_response(const std::string& model,
                                   const InferRequest& request,
                                   const InferResult& result) {
  FloatJson document = {{"model_name", model},
                        {"model_version", kModelVersion}};
  if (!request.id.empty()) document["id"] = request.id;
  if (!request.stream.empty())
    document["parameters"] = parameters_of(request, result);
  FloatJson outputs = FloatJson::array();
  std::string binary;
  bool any_binary = false;
  for (const OutputRequest& wanted : request.outputs) {
    Output output = make_output(result.answer, wanted);
    FloatJson entry = {{"name", wanted.name},
                       {"datatype", output.datatype},
                       {"shape", output.shape}};
    if (wanted.binary) {
      entry["parameters"] = {{"binary_data_size", output.bytes.size()}};
      binary += output.bytes;
      any_binary = true;
    } else {
      entry["data"] = std::move(output.data);
    }
    outputs.push_back(std::move(entry));
  }
  document["outputs"] = std::move(outputs);
  InferResponse response{dump(document), 0};
  if (any_binary) response.json_length = response.body.size();
  response.body += binary;
  return response;
}

std::string write_error(const RequestError& error) {
  FloatJson document = {{"error", error.what()}};
  if (error.next_seq) document["next_seq"] = *error.next_seq;
  return dump(document);
}

}  // namespace sotta
