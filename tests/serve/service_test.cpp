#include "serve/http/service.h"

#include <thread>

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/data/safetensors.h"

#include "data/tensor.h"
#include "serve/streams/state_store.h"
#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::binary_of;
using testing::kSmallWindow;
using testing::small_adapter;
using testing::small_model;
using testing::SmallService;

std::string floats_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  return {static_cast<const char*>(plain.data_ptr()), plain.nbytes()};
}

void expect_answer(const HttpResponse& response, int status,
                   const std::string& part) {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_NE(response.body.find(part), std::string::npos) << response.body;
}

std::string numbered(int64_t seq, const std::string& stream = "a") {
  return R"("sequence_id":")" + stream + R"(","seq":)" + std::to_string(seq);
}

TEST(Service, AStreamsLogitsAreTheLibrarysBitForBit) {
  SmallService small;
  const auto adapter = small_adapter("sotta");

  for (int64_t seq = 0; seq < 8; ++seq) {
    const HttpResponse response = small.infer(10 * seq, 10, numbered(seq));

    const at::Tensor images =
        testing::golden_stream().slice(0, 10 * seq, 10 * seq + 10);
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.type, "application/octet-stream");
    EXPECT_TRUE(binary_of(response) == floats_of(adapter->step(images).logits))
        << seq;
  }
}

TEST(Service, NormIsTheLibrarysByteForByte) {
  SmallService small;
  const auto adapter = small_adapter("sotta");
  for (int64_t seq = 0; seq < 3; ++seq) {
    small.infer(kSmallWindow * seq, kSmallWindow, numbered(seq));
    adapter->step(testing::golden_stream().slice(0, kSmallWindow * seq,
                                                 kSmallWindow * (seq + 1)));
  }

  const HttpResponse norm = small.send("GET", "/v2/models/m/streams/a/norm");

  TensorFile expected;
  for (const auto& [name, tensor] :
       named_norm_tensors(adapter->state(), adapter->model().norm_layers()))
    expected.tensors[name] = to_array(tensor);
  EXPECT_TRUE(norm.body == safetensors_bytes(expected, "norm"));
}

TEST(Service, WithoutAStreamTheSourceModelAnswersAndLearnsNothing) {
  SmallService small;
  const auto source = small_adapter("source");
  const at::Tensor images = testing::golden_stream().slice(0, 0, kSmallWindow);

  const HttpResponse first = small.infer(0, kSmallWindow, "");
  const HttpResponse second = small.infer(0, kSmallWindow, "");

  EXPECT_TRUE(binary_of(first) == floats_of(source->step(images).logits));
  EXPECT_TRUE(first.body == second.body);
  expect_answer(small.send("GET", "/v2/models/m/streams"), 200,
                R"({"streams":[]})");
}

TEST(Service, OneStreamsImagesDoNotChangeAnothersAnswers) {
  SmallService alone, beside;
  for (int64_t seq = 0; seq < 4; ++seq) {
    beside.infer(100, 20, numbered(seq, "noise"));
    const HttpResponse expected = alone.infer(16 * seq, 16, numbered(seq));
    const HttpResponse found = beside.infer(16 * seq, 16, numbered(seq));
    EXPECT_TRUE(binary_of(found) == binary_of(expected)) << seq;
  }
}

TEST(Service, ARequestThatComesAgainGetsTheSameBytes) {
  SmallService small;
  const HttpResponse first = small.infer(0, 4, numbered(0));

  const HttpResponse again = small.infer(0, 4, numbered(0));

  EXPECT_TRUE(binary_of(again) == binary_of(first));
  expect_answer(small.infer(4, 4, numbered(5)), 409, R"("next_seq":1)");
}

TEST(Service, TheStreamMayBeNamedInThreePlacesThatAgree) {
  SmallService small;
  const std::string path = "/v2/models/m/streams/a%2Fb/infer";

  EXPECT_EQ(small.infer(0, 1, R"("sequence_id":"a/b")").status, 200);
  EXPECT_EQ(small.infer(0, 1, "", path).status, 200);
  EXPECT_EQ(
      small.infer(0, 1, "", "/v2/models/m/infer", {{"sotta-stream", "a/b"}})
          .status,
      200);
  expect_answer(small.infer(0, 1, R"("sequence_id":"c")", path), 400,
                "two that differ");
  expect_answer(small.send("GET", "/v2/models/m/streams/a%2Fb"), 200,
                R"("next_seq":3)");
}

TEST(Service, SeqAndResetNeedAStream) {
  SmallService small;

  expect_answer(small.infer(0, 1, R"("seq":1)"), 400, "seq: expected");
  expect_answer(small.infer(0, 1, R"("reset":true)"), 400, "reset: expected");
}

TEST(Service, ARequestThatWaitedTooLongIsNotLearntFrom) {
  ServiceOptions options;
  // Each look at the clock finds it a second later.
  const auto clock = std::make_shared<std::atomic<int64_t>>(0);
  options.now = [clock] {
    return std::chrono::steady_clock::time_point(
        std::chrono::seconds((*clock)++));
  };
  SmallService small(small_model(), options);

  expect_answer(small.infer(0, 1, numbered(0) + R"(,"timeout":1000)"), 504,
                "timeout: the request waited");
  EXPECT_EQ(small.infer(0, 1, numbered(0) + R"(,"timeout":5000000)").status,
            200);
}

// As above. Its turn comes after 2 s, its stream is ready after 3.
TEST(Service, WaitingForTheStreamCountsAgainstTheTimeoutToo) {
  ServiceOptions options;
  const auto clock = std::make_shared<std::atomic<int64_t>>(0);
  options.now = [clock] {
    return std::chrono::steady_clock::time_point(
        std::chrono::seconds((*clock)++));
  };
  SmallService small(small_model(), options);

  expect_answer(small.infer(0, 1, numbered(0) + R"(,"timeout":2500000)"), 504,
                "timeout: the request waited");
  EXPECT_EQ(small.infer(0, 1, numbered(0) + R"(,"timeout":3500000)").status,
            200);
}

TEST(Service, AnImageIsDecodedInItsStreamsTurn) {
  ServiceOptions options;
  const auto clock = std::make_shared<std::atomic<int64_t>>(0);
  options.now = [clock] {
    return std::chrono::steady_clock::time_point(
        std::chrono::seconds((*clock)++));
  };
  SmallService small(small_model(), options);
  const std::string json =
      R"({"parameters":{"sequence_id":"a","timeout":1000},"inputs":[{"name":)"
      R"("images","datatype":"BYTES","shape":[1],"parameters":)"
      R"({"binary_data_size":9}}]})";
  const std::string no_image("\x05\0\0\0image", 9);

  // What waited too long is not looked at.
  expect_answer(small.send("POST", "/v2/models/m/infer", json + no_image,
                           {{"inference-header-content-length",
                             std::to_string(json.size())}}),
                504, "timeout: the request waited");
}

TEST(Service, ControlsAStream) {
  SmallService small;
  const std::string stream = "/v2/models/m/streams/a";

  expect_answer(small.send("GET", stream), 404, "stream: there is none");
  expect_answer(small.send("PUT", stream, R"({"frozen":true})"), 200,
                R"("frozen":"by request")");
  expect_answer(small.send("POST", stream + "/thaw"), 200, R"("frozen":"")");
  small.infer(0, kSmallWindow, numbered(0));
  expect_answer(small.send("POST", stream + "/snapshot"), 200,
                R"("updates":1)");
  const HttpResponse kept = small.send("GET", stream + "/snapshots");
  expect_answer(kept, 200, R"("kept":true)");
  small.infer(16, kSmallWindow, numbered(1));
  expect_answer(small.send("POST", stream + "/reset"), 200, R"("updates":0)");
  const size_t at = kept.body.find(R"(,"kept":true)");
  const std::string number(1, kept.body[at - 1]);
  expect_answer(
      small.send("POST", stream + "/rollback", "{\"to\":" + number + "}"), 200,
      R"("updates":1)");
  expect_answer(small.send("POST", stream + "/freeze"), 200,
                R"("frozen":"by request")");
  expect_answer(small.send("DELETE", stream), 200, "{}");
  expect_answer(small.send("GET", stream), 404, "there is none");
}

TEST(Service, AStateMovesToAnotherServer) {
  SmallService one, two;
  for (int64_t seq = 0; seq < 3; ++seq)
    one.infer(10 * seq, 10, numbered(seq));

  const HttpResponse state = one.send("GET", "/v2/models/m/streams/a/state");
  expect_answer(two.send("PUT", "/v2/models/m/streams/b/state", state.body),
                200, R"("next_seq":3)");

  EXPECT_TRUE(binary_of(two.infer(30, 10, numbered(3, "b"))) ==
              binary_of(one.infer(30, 10, numbered(3))));
  expect_answer(two.send("PUT", "/v2/models/m/streams/c/state", "other"), 400,
                "state: expected");

  StreamState with_more = to_stream_state(
      parse_safetensors(reinterpret_cast<const std::byte*>(state.body.data()),
                        state.body.size(), "state"),
      "state");
  with_more.adapter.tensors["more"] = at::zeros({1});
  expect_answer(two.send("PUT", "/v2/models/m/streams/c/state",
                         safetensors_bytes(to_tensor_file(with_more), "")),
                400, "snapshot: expected");
}

TEST(Service, StreamsOutliveTheServer) {
  const testing::TempDir folder;
  const auto serve = [&](const auto& work) {
    const StateStore store(folder.path());
    std::vector<std::unique_ptr<ServedModel>> models;
    models.push_back(std::make_unique<ServedModel>(small_model(), store));
    Service service(std::move(models), {});
    const auto send = [&](int64_t seq) {
      const auto [json, pixels] =
          SmallService::infer_body(10 * seq, 10, numbered(seq));
      std::promise<HttpResponse> answer;
      service.handle(
          {"POST",
           "/v2/models/m/infer",
           {{"inference-header-content-length", std::to_string(json.size())}},
           json + pixels},
          [&](HttpResponse response) {
            answer.set_value(std::move(response));
          });
      return binary_of(answer.get_future().get());
    };
    work(send);
    EXPECT_EQ(service.drain(), 0u);
  };
  SmallService undisturbed;

  for (int64_t seq = 0; seq < 6; ++seq)
    serve([&](const auto& send) {
      EXPECT_TRUE(send(seq) ==
                  binary_of(undisturbed.infer(10 * seq, 10, numbered(seq))))
          << seq;
    });
}

TEST(Service, ListsStreamsInPages) {
  SmallService small;
  for (const std::string name : {"c", "a", "b"})
    small.send("PUT", "/v2/models/m/streams/" + name);
  const std::string list = "/v2/models/m/streams";

  expect_answer(small.send("GET", list + "?limit=2"), 200, R"("next":"b")");
  const HttpResponse rest = small.send("GET", list + "?after=b&limit=2");
  expect_answer(rest, 200, R"("name":"c")");
  EXPECT_EQ(rest.body.find("next\":\""), std::string::npos);
  for (const std::string query :
       {"?limit=0", "?limit=x", "?limit=1001", "?limt=3", "?limit=1&limit=2"})
    EXPECT_EQ(small.send("GET", list + query).status, 400) << query;
}

TEST(Service, SequenceEndSavesAndParks) {
  SmallService small;
  const auto answer =
      small.infer(0, 3, numbered(0) + R"(,"sequence_end":true)");

  expect_answer(answer, 200, R"("durable_seq":1)");
  expect_answer(small.send("GET", "/v2/models/m/streams/a"), 200,
                R"("durable_seq":1)");
  EXPECT_EQ(small.store.streams("m").size(), 1u);
}

TEST(Service, AnswersWhatItIsAndHasDone) {
  SmallService small;
  small.infer(0, 3, numbered(0));
  small.infer(0, 3, numbered(7));

  expect_answer(small.send("GET", "/v2"), 200, "binary_tensor_data");
  expect_answer(small.send("GET", "/v2/health/live"), 200, "live");
  expect_answer(small.send("GET", "/v2/health/ready"), 200, "ready");
  expect_answer(small.send("GET", "/v2/models/m"), 200, "\"platform\"");
  expect_answer(small.send("GET", "/v2/models/m/versions/1"), 200, "\"m\"");
  expect_answer(small.send("GET", "/v2/models/m/versions/1/ready"), 200,
                "ready");
  expect_answer(small.send("GET", "/v2/models/m/config"), 200,
                "sequence_batching");
  expect_answer(small.send("POST", "/v2/repository/index"), 200, "READY");
  for (const std::string path : {"/v2/models/m/stats", "/v2/models/stats"})
    expect_answer(small.send("GET", path), 200, R"("inference_count":3)");
  expect_answer(small.send("GET", "/metrics"), 200,
                "sotta_failed_requests_total{model=\"m\"} 1\n");
}

TEST(Service, RefusesOtherPathsAndMethods) {
  SmallService small;
  for (const std::string path :
       {"/", "/v1", "/v2/models", "/v2/models/x", "/v2/models/m/x",
        "/v2/models/m/versions/2", "/v2/models/m/streams/a/b/c",
        "/v2/models/m/streams/a/x", "/v2/models/m/ready/x"})
    EXPECT_EQ(small.send("GET", path).status, 404) << path;
  EXPECT_EQ(small.send("GET", "/v2/models/m/infer").status, 405);
  EXPECT_EQ(small.send("POST", "/v2").status, 405);
  EXPECT_EQ(small.send("DELETE", "/v2/models/m/streams").status, 405);
  EXPECT_EQ(small.send("POST", "/v2/models/m").status, 405);
  EXPECT_EQ(small.send("GET", "v2").status, 400);
  EXPECT_EQ(small.send("GET", "/v2/%zz").status, 400);
  EXPECT_EQ(small.send("PUT", "/v2/models/m/streams/%0A").status, 400);
  EXPECT_EQ(small.send("PUT", "/v2/models/m/streams/%FF").status, 400);
}

TEST(Service, RefusesCommandsWithOptionsTheyDoNotHave) {
  SmallService small;
  const std::string stream = "/v2/models/m/streams/a";
  small.send("PUT", stream);

  EXPECT_EQ(small.send("PUT", stream, R"({"window":3})").status, 400);
  EXPECT_EQ(small.send("POST", stream + "/freeze", R"({"x":1})").status, 400);
  EXPECT_EQ(small.send("POST", stream + "/rollback").status, 400);
  EXPECT_EQ(small.send("POST", stream + "/rollback", R"({"to":0})").status,
            400);
  EXPECT_EQ(small.send("POST", stream + "/rollback", R"({"to":77})").status,
            404);
}

TEST(Service, ImagesThatDoNotFitTheNetworkAreTheClientsFault) {
  SmallService small;
  const std::string body =
      R"({"inputs":[{"name":"images","datatype":"UINT8","shape":[1,1,1,1],)"
      R"("data":[1]}]})";

  expect_answer(small.send("POST", "/v2/models/m/infer", body), 400,
                "expected 3 channels, got 1");
}

TEST(Service, WhileTheDiskRefusesItAnswersAndSaysThatItIsNotReady) {
  SmallService small;
  small.folder.write("streams/m/a", "a file where the folder should be");
  small.infer(0, kSmallWindow, R"("sequence_id":"a")");

  expect_answer(small.infer(16, 4, R"("sequence_id":"a")"), 200, "\"frozen\"");
  expect_answer(small.send("GET", "/v2/health/ready"), 503, "are frozen");

  std::filesystem::remove(small.folder / "streams/m/a");
  EXPECT_EQ(small.infer(16, 4, R"("sequence_id":"a")").status, 200);
  EXPECT_EQ(small.send("GET", "/v2/health/ready").status, 200);
}

TEST(Service, IsReadyAgainByItselfOnceTheDiskTakesWhatItRefused) {
  ServiceOptions options;
  options.retry_interval = std::chrono::milliseconds(1);
  SmallService small(small_model(), options);
  small.folder.write("streams/m/a", "a file where the folder should be");
  small.infer(0, kSmallWindow, numbered(0));
  small.infer(kSmallWindow, 1, numbered(1));
  expect_answer(small.send("GET", "/v2/health/ready"), 503, "frozen");
  const auto status = small.send("GET", "/v2/models/m/streams/a");
  EXPECT_EQ(status.body.find(small.folder.path().string()), std::string::npos)
      << status.body;

  std::filesystem::remove(small.folder / "streams/m/a");

  HttpResponse ready;
  ready.status = 503;
  for (int i = 0; i < 20000 && ready.status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ready = small.send("GET", "/v2/health/ready");
  }
  EXPECT_EQ(ready.status, 200) << ready.body;
}

TEST(Service, AStreamMadeWhileTheDiskRefusesLearnsAfterwards) {
  SmallService small;
  small.folder.write("streams/m/a", "a file where the folder should be");
  small.infer(0, kSmallWindow, R"("sequence_id":"a")");
  EXPECT_EQ(small.send("PUT", "/v2/models/m/streams/a").status, 503);

  std::filesystem::remove(small.folder / "streams/m/a");
  small.infer(0, 4, R"("sequence_id":"a")");

  expect_answer(small.send("GET", "/v2/models/m/streams/a"), 200,
                R"("frozen":"")");
}

TEST(Service, AfterDrainingItRefuses) {
  SmallService small;
  small.infer(0, 3, R"("sequence_id":"a")");

  EXPECT_EQ(small.service->drain(), 0u);

  EXPECT_EQ(small.store.streams("m").size(), 1u);
  EXPECT_EQ(small.infer(0, 3, "").status, 503);
  EXPECT_EQ(small.send("GET", "/v2/health/ready").status, 503);
  EXPECT_EQ(small.send("GET", "/v2/health/live").status, 200);
}

TEST(Service, WhereTooManyWaitItSaysWhenToComeBack) {
  ServiceOptions options;
  options.dispatcher.workers = 1;
  options.dispatcher.max_waiting = 1;
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  options.dispatcher.prepare_thread = [gate] { gate.wait(); };
  SmallService small(small_model(), options);
  auto first = small.start("GET", "/v2/models/m/streams/a");

  const HttpResponse second = small.send("GET", "/v2/models/m/streams/a");

  EXPECT_EQ(second.status, 429);
  ASSERT_EQ(second.headers.size(), 1u);
  EXPECT_EQ(second.headers[0].first, "Retry-After");
  opened.set_value();
  EXPECT_EQ(first.get().status, 404);
}

}  // namespace
}  // namespace sotta
