#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::binary_of;
using testing::small_model;
using testing::SmallService;

const std::string kLoad = "/v2/repository/models/m/load";
const std::string kUnload = "/v2/repository/models/m/unload";

void expect_answer(const HttpResponse& response, int status,
                   const std::string& part) {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_NE(response.body.find(part), std::string::npos) << response.body;
}

std::string numbered(int64_t seq) {
  return R"("sequence_id":"a","seq":)" + std::to_string(seq);
}

TEST(ServiceRepository, AModelThatIsUnloadedIsNotReady) {
  SmallService small;

  expect_answer(small.send("POST", kUnload), 200, "{}");

  expect_answer(small.send("GET", "/v2/models/m/ready"), 503,
                "model: is not ready: it was unloaded");
  expect_answer(small.infer(0, 1, numbered(0)), 503, "it was unloaded");
  expect_answer(small.send("POST", "/v2/repository/index"), 200,
                R"("state":"UNAVAILABLE","reason":"it was unloaded")");
  expect_answer(small.send("POST", "/v2/repository/index", R"({"ready":true})"),
                200, "[]");
  expect_answer(small.send("GET", "/v2/models/stats"), 200,
                R"({"model_stats":[]})");
  EXPECT_EQ(small.send("GET", "/v2/health/ready").status, 200);
  EXPECT_EQ(small.send("GET", "/metrics").status, 200);
  expect_answer(small.send("POST", kUnload), 200, "{}");
}

TEST(ServiceRepository, StreamsGoOnBitForBitWhereAModelIsLoadedAgain) {
  SmallService small, undisturbed;

  for (int64_t seq = 0; seq < 6; ++seq) {
    const HttpResponse found = small.infer(10 * seq, 10, numbered(seq));

    EXPECT_TRUE(binary_of(found) ==
                binary_of(undisturbed.infer(10 * seq, 10, numbered(seq))))
        << seq;
    if (seq % 2 == 0) expect_answer(small.send("POST", kUnload), 200, "{}");
    expect_answer(small.send("POST", kLoad), 200, "{}");
    expect_answer(small.send("GET", "/v2/models/m/ready"), 200, "true");
  }
}

TEST(ServiceRepository, RequestsThatWaitAreAnsweredBeforeTheModelGoes) {
  ServiceOptions options;
  options.dispatcher.workers = 1;
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  options.dispatcher.prepare_thread = [gate] { gate.wait(); };
  SmallService small(small_model(), options);
  const auto [json, pixels] = SmallService::infer_body(0, 4, numbered(0));
  auto waiting = small.start(
      "POST", "/v2/models/m/infer", json + pixels,
      {{"inference-header-content-length", std::to_string(json.size())}});
  auto unloaded = small.start("POST", kUnload);

  expect_answer(small.send("GET", "/v2/models/m"), 503, "being unloaded");
  expect_answer(small.send("POST", kLoad), 409, "being unloaded");
  opened.set_value();

  EXPECT_EQ(waiting.get().status, 200);
  EXPECT_EQ(unloaded.get().status, 200);
  small.send("POST", kLoad);
  expect_answer(small.send("GET", "/v2/models/m/streams/a"), 200,
                R"("next_seq":1)");
}

TEST(ServiceRepository, AModelWhoseStreamsTheDiskRefusesStaysLoaded) {
  SmallService small;
  small.folder.write("streams/m/a", "a file where the folder should be");
  small.infer(0, 4, numbered(0));

  expect_answer(small.send("POST", kUnload), 503,
                "model: stays loaded, as the disk refuses 1 of its streams");

  EXPECT_EQ(small.send("GET", "/v2/models/m/ready").status, 200);
}

TEST(ServiceRepository, AModelThatCannotBeOpenedSaysWhy) {
  ServiceOptions options;
  options.open = [](const std::string& name) -> std::unique_ptr<ServedModel> {
    fail(ErrorKind::kNotFound, "/srv/models/" + name, "no such file");
  };
  SmallService small(small_model(), options);

  // Not where the server has its files.
  expect_answer(small.send("POST", kLoad), 400,
                "model: it could not be loaded: m: no such file");

  expect_answer(small.send("POST", "/v2/repository/index"), 200,
                "no such file");
  EXPECT_EQ(small.send("GET", "/v2/models/m").status, 503);
}

TEST(ServiceRepository, RefusesWhatItCannotDo) {
  SmallService small;
  const auto refuses = [&](int status, const std::string& method,
                           const std::string& path, const std::string& body) {
    EXPECT_EQ(small.send(method, path, body).status, status) << path << body;
  };

  refuses(404, "POST", "/v2/repository/models/x/load", "");
  refuses(404, "POST", "/v2/repository/models/x/unload", "");
  refuses(404, "POST", "/v2/repository/models/m/reload", "");
  refuses(404, "POST", "/v2/repository/models/m", "");
  refuses(405, "GET", kLoad, "");
  refuses(405, "GET", "/v2/repository/index", "");
  refuses(400, "POST", kLoad, R"({"parameters":{"config":"{}"}})");
  refuses(400, "POST", kLoad, R"({"parameters":{"file:1/m.pt":"AA=="}})");
  refuses(400, "POST", kLoad, R"({"parameters":7})");
  refuses(400, "POST", kUnload, R"({"parameters":{"unload_dependents":1}})");
  refuses(400, "POST", "/v2/repository/index", R"({"ready":"yes"})");
  refuses(200, "POST", kUnload,
          R"({"parameters":{"unload_dependents":false}})");
}

TEST(ServiceRepository, WhileTheServerEndsAModelIsSavedAllTheSame) {
  ServiceOptions options;
  options.dispatcher.workers = 1;
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  options.dispatcher.prepare_thread = [gate] { gate.wait(); };
  SmallService small(small_model(), options);
  const auto [json, pixels] = SmallService::infer_body(0, 4, numbered(0));
  auto waiting = small.start(
      "POST", "/v2/models/m/infer", json + pixels,
      {{"inference-header-content-length", std::to_string(json.size())}});
  auto unloaded = small.start("POST", kUnload);

  opened.set_value();
  EXPECT_EQ(small.service->drain(), 0u);

  EXPECT_EQ(waiting.get().status, 200);
  const int status = unloaded.get().status;  // whichever came first
  EXPECT_TRUE(status == 200 || status == 503) << status;
  EXPECT_EQ(small.store.streams("m").size(), 1u);
}

TEST(ServiceRepository, StreamsLoseNothingWhileOthersLoadAndUnload) {
  SmallService small, undisturbed;
  std::atomic<bool> done{false};
  std::thread changes([&] {
    while (!done) {
      small.send("POST", kUnload);
      small.send("POST", kLoad);
    }
  });

  for (int64_t seq = 0; seq < 12; ++seq) {
    HttpResponse found = small.infer(10 * seq, 10, numbered(seq));
    while (found.status == 503)
      found = small.infer(10 * seq, 10, numbered(seq));
    ASSERT_EQ(found.status, 200) << found.body;
    EXPECT_TRUE(binary_of(found) ==
                binary_of(undisturbed.infer(10 * seq, 10, numbered(seq))))
        << seq;
  }
  done = true;
  changes.join();
}

}  // namespace
}  // namespace sotta
