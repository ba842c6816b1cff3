// Triton's own C++ client, as it is published, against `sotta serve`:
// serve_triton_client HOST:PORT. Built and run by serve_triton_cpp_test.sh.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http_client.h"

namespace {

namespace tc = triton::client;
using Client = std::unique_ptr<tc::InferenceServerHttpClient>;

constexpr int kImages = 4, kSide = 28;

void require(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "serve_triton_client: %s\n", what.c_str());
  std::exit(1);
}

void require(const tc::Error& error) {
  require(error.IsOk(), error.Message());
}

void expect_part(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos,
          "expected " + part + ", got " + text);
}

struct Request {
  std::vector<uint8_t> pixels;
  std::unique_ptr<tc::InferInput> input;
  std::vector<std::unique_ptr<tc::InferRequestedOutput>> outputs;
  tc::InferOptions options{"fashion"};

  std::vector<tc::InferInput*> inputs() { return {input.get()}; }
  std::vector<const tc::InferRequestedOutput*> wanted() const {
    std::vector<const tc::InferRequestedOutput*> all;
    for (const auto& output : outputs)
      all.push_back(output.get());
    return all;
  }
};

std::unique_ptr<Request> make_request(
    const std::vector<std::string>& outputs = {"logits", "label"},
    size_t classes = 0) {
  auto request = std::make_unique<Request>();
  for (int i = 0; i < kImages * kSide * kSide; ++i)
    request->pixels.push_back(static_cast<uint8_t>(i * 37));
  tc::InferInput* input = nullptr;
  require(tc::InferInput::Create(&input, "images", {kImages, 1, kSide, kSide},
                                 "UINT8"));
  request->input.reset(input);
  require(input->AppendRaw(request->pixels));
  for (const std::string& name : outputs) {
    tc::InferRequestedOutput* output = nullptr;
    require(tc::InferRequestedOutput::Create(&output, name, classes));
    request->outputs.emplace_back(output);
  }
  return request;
}

std::vector<int64_t> labels_of(tc::InferResult& result) {
  require(result.RequestStatus());
  const uint8_t* data = nullptr;
  size_t size = 0;
  require(result.RawData("label", &data, &size));
  require(size == kImages * sizeof(int64_t), "labels of another size");
  const auto* labels = reinterpret_cast<const int64_t*>(data);
  return {labels, labels + kImages};
}

std::unique_ptr<tc::InferResult> infer(const Client& client, Request& request) {
  tc::InferResult* result = nullptr;
  require(client->Infer(&result, request.options, request.inputs(),
                        request.wanted()));
  return std::unique_ptr<tc::InferResult>(result);
}

void check_metadata(const Client& client) {
  bool live = false, ready = false, model = false;
  require(client->IsServerLive(&live));
  require(client->IsServerReady(&ready));
  require(client->IsModelReady(&model, "fashion", "1"));
  require(live && ready && model, "not ready");
  std::string text;
  require(client->ServerMetadata(&text));
  expect_part(text, "model_repository");
  require(client->ModelMetadata(&text, "fashion"));
  expect_part(text, "\"images\"");
  require(client->ModelConfig(&text, "fashion"));
  expect_part(text, "sequence_batching");
  require(client->ModelRepositoryIndex(&text));
  expect_part(text, "READY");
}

void check_infer(const Client& client) {
  const auto request = make_request();
  const auto labels = labels_of(*infer(client, *request));

  const auto best = infer(client, *make_request({"logits"}, 2));
  std::vector<std::string> classes;
  require(best->StringData("logits", &classes));
  require(classes.size() == 2 * kImages, "classification of another size");
  expect_part(classes[0], ":" + std::to_string(labels[0]));

  auto wrong = make_request({"nothing"});
  tc::InferResult* refused = nullptr;
  const tc::Error error =
      client->Infer(&refused, wrong->options, wrong->inputs(), wrong->wanted());
  expect_part(error.Message(), "outputs");
  delete refused;
}

// By a number and by a name, with a start and an end.
void check_sequences(const Client& client) {
  for (int turn = 0; turn < 3; ++turn)
    for (const bool by_name : {false, true}) {
      const auto request = make_request();
      if (by_name)
        request->options.sequence_id_str_ = "camera";
      else
        request->options.sequence_id_ = 5;
      request->options.sequence_start_ = turn == 0;
      request->options.sequence_end_ = turn == 2;
      request->options.request_id_ = "r" + std::to_string(turn);
      const auto result = infer(client, *request);
      labels_of(*result);
      std::string id;
      require(result->Id(&id));
      require(id == request->options.request_id_, "another id");
      expect_part(result->DebugString(),
                  "\"next_seq\":" + std::to_string(turn + 1));
    }
}

void check_async(const Client& client) {
  constexpr int kRequests = 32;
  std::mutex mutex;
  std::condition_variable changed;
  int answered = 0;
  std::vector<std::unique_ptr<Request>> requests;
  for (int i = 0; i < kRequests; ++i) {
    requests.push_back(make_request());
    Request& request = *requests.back();
    request.options.sequence_id_ = 100 + i % 8;
    require(client->AsyncInfer(
        [&](tc::InferResult* result) {
          labels_of(*result);
          delete result;
          const std::lock_guard<std::mutex> lock(mutex);
          ++answered;
          changed.notify_all();
        },
        request.options, request.inputs(), request.wanted()));
  }
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return answered == kRequests; });
}

void check_repository(const Client& client) {
  std::string text;
  require(client->ModelInferenceStatistics(&text, "fashion"));
  expect_part(text, "\"cache_miss\"");
  expect_part(text, "\"fail\":{\"count\":0");
  require(client->UnloadModel("fashion"));
  bool ready = true;
  require(client->IsModelReady(&ready, "fashion"));
  require(!ready, "ready after it was unloaded");
  require(client->LoadModel("fashion"));
  require(client->IsModelReady(&ready, "fashion"));
  require(ready, "not ready after it was loaded");
  require(!client->LoadModel("other").IsOk(), "loaded an unknown model");
}

}  // namespace

int main(int count, char** arguments) {
  require(count == 2, "expected HOST:PORT");
  Client client;
  require(tc::InferenceServerHttpClient::Create(&client, arguments[1]));
  check_metadata(client);
  check_sequences(client);
  check_async(client);
  check_repository(client);
  check_infer(client);
}
