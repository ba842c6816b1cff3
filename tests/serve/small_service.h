#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/service.h"
#include "serve/streams/state_store.h"
#include "tests/adapt/small_adapter.h"
#include "tests/support/temp_dir.h"

namespace sotta::testing {

inline ModelSettings small_model(const std::string& name = "m") {
  ModelSettings settings;
  settings.name = name;
  settings.network = golden_network();
  settings.checksum = "golden";
  settings.changes = {{"min_confidence", 0.5},
                      {"memory_capacity", int64_t{16}}};
  settings.window = kSmallWindow;
  settings.seed = 3;
  return settings;
}

// A service of one model in a folder of its own, asked without sockets.
class SmallService {
 public:
  explicit SmallService(ModelSettings settings = small_model(),
                        ServiceOptions options = {},
                        int64_t most_state_bytes = 0)
      : store(folder.path(), most_state_bytes) {
    const auto open = [this, settings](const std::string&) {
      return std::make_unique<ServedModel>(settings, store);
    };
    std::vector<std::unique_ptr<ServedModel>> models;
    models.push_back(open(settings.name));
    if (!options.open) options.open = open;
    service = std::make_unique<Service>(std::move(models), std::move(options));
  }

  HttpResponse send(const std::string& method, const std::string& target,
                    const std::string& body = "",
                    std::map<std::string, std::string> headers = {}) {
    return start(method, target, body, std::move(headers)).get();
  }

  std::future<HttpResponse> start(
      const std::string& method, const std::string& target,
      const std::string& body = "",
      std::map<std::string, std::string> headers = {}) {
    const auto answer = std::make_shared<std::promise<HttpResponse>>();
    service->handle({method, target, std::move(headers), body},
                    [answer](HttpResponse response) {
                      answer->set_value(std::move(response));
                    });
    return answer->get_future();
  }

  // Images first .. first+count-1 of the golden stream, answered in binary.
  HttpResponse infer(int64_t first, int64_t count,
                     const std::string& parameters,
                     const std::string& target = "/v2/models/m/infer",
                     std::map<std::string, std::string> headers = {}) {
    const auto [json, pixels] = infer_body(first, count, parameters);
    headers["inference-header-content-length"] = std::to_string(json.size());
    return send("POST", target, json + pixels, std::move(headers));
  }

  // The JSON and the binary data behind it.
  static std::pair<std::string, std::string> infer_body(
      int64_t first, int64_t count, const std::string& parameters) {
    const at::Tensor images =
        golden_stream().slice(0, first, first + count).contiguous();
    const std::string type =
        images.scalar_type() == at::kByte ? "UINT8" : "FP32";
    std::string shape;
    for (const int64_t extent : images.sizes())
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    return {R"({"parameters":{)" + parameters +
                R"(},"inputs":[{"name":"images","datatype":")" + type +
                R"(","shape":[)" + shape +
                R"(],"parameters":{"binary_data_size":)" +
                std::to_string(images.nbytes()) +
                R"(}}],"outputs":[{"name":"logits","parameters":)"
                R"({"binary_data":true}}]})",
            std::string(static_cast<const char*>(images.data_ptr()),
                        images.nbytes())};
  }

  TempDir folder;
  StateStore store;
  std::unique_ptr<Service> service;
};

// The binary part of an answer.
inline std::string binary_of(const HttpResponse& response) {
  for (const auto& [name, value] : response.headers)
    if (name == "Inference-Header-Content-Length")
      return response.body.substr(std::stoul(value));
  return "";
}

}  // namespace sotta::testing
