#include "serve/http/server.h"

#include <atomic>
#include <csignal>
#include <future>
#include <stdexcept>

#include <gtest/gtest.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "tests/serve/loopback_socket.h"
#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::LoopbackSocket;
using testing::small_model;
using testing::SmallService;

std::string get(const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
}

// A server that runs until it gets a signal; none in a build without Beast.
class RunningServer : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    try {
      server_ = std::make_unique<HttpServer>(options, *small.service);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    address = server_->address();
    running = std::async(std::launch::async, [this] { server_->run(); });
  }

  std::string ask(const std::string& text) const {
    const LoopbackSocket connection(address);
    connection.send(text);
    return connection.read_all();
  }

  static void send_signal(int number) { ::kill(::getpid(), number); }

  void TearDown() override {
    if (running.valid()) {
      send_signal(SIGTERM);
      running.get();
    }
  }

  SmallService small;
  std::string address;
  std::future<void> running;

 private:
  std::unique_ptr<HttpServer> server_;
};

const std::string kClose = "Connection: close\r\n";

TEST(HttpServer, WhereItThrowsItsServiceAnswersNobodyAnyMore) {
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  std::atomic<bool> broken{false};
  ServiceOptions service_options;
  service_options.dispatcher.prepare_thread = [gate] { gate.wait(); };
  service_options.now = [&] {
    if (broken.exchange(false)) {
      opened.set_value();
      throw std::runtime_error("no clock");
    }
    return std::chrono::steady_clock::now();
  };
  SmallService small(small_model(), service_options);
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  std::unique_ptr<HttpServer> server;
  try {
    server = std::make_unique<HttpServer>(options, *small.service);
  } catch (const Error& error) {
    opened.set_value();
    GTEST_SKIP() << error.what();
  }
  auto running = std::async(std::launch::async, [&] { server->run(); });

  const LoopbackSocket waits_for_a_worker(server->address());
  waits_for_a_worker.send(get("/v2/models/m/streams/a"));
  broken = true;
  const LoopbackSocket breaks_it(server->address());
  breaks_it.send(get("/v2"));

  EXPECT_THROW(running.get(), std::runtime_error);
  server.reset();
  EXPECT_EQ(small.send("GET", "/v2/health/ready").status, 503);
}

TEST_F(RunningServer, ABodyThatArrivesThroughSigtermIsAnswered) {
  start();
  if (IsSkipped()) return;
  auto [json, pixels] = SmallService::infer_body(0, 3, R"("sequence_id":"a")");
  json += std::string(80000, ' ');
  const LoopbackSocket idle(address), arriving(address);
  idle.send(get("/v2/health/live"));
  idle.read_until("true}");
  arriving.send(
      "POST /v2/models/m/infer HTTP/1.1\r\nHost: localhost\r\n"
      "Inference-Header-Content-Length: " +
      std::to_string(json.size()) +
      "\r\nContent-Length: " + std::to_string(json.size() + pixels.size()) +
      "\r\nExpect: 100-continue\r\n\r\n");
  arriving.read_until("\r\n\r\n");
  arriving.send(json);

  send_signal(SIGTERM);
  EXPECT_EQ(idle.read_all(), "");  // closed, so that it has stopped
  EXPECT_EQ(small.send("GET", "/v2/health/ready").status, 503);
  arriving.send(pixels);

  const std::string answer = arriving.read_all();
  EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find("Connection: close"), answer.npos);
  running.get();
}

TEST_F(RunningServer, WhileItDrainsItIsNotReadyAndAnswers) {
  ServerOptions options;
  options.drain_seconds = 3600;
  start(options);
  if (IsSkipped()) return;
  EXPECT_NE(ask(get("/v2/health/ready", kClose)).find(" 200 "),
            std::string::npos);

  send_signal(SIGTERM);
  std::string ready;
  for (int i = 0; i < 1000 && ready.find(" 503 ") == std::string::npos; ++i)
    ready = ask(get("/v2/health/ready", kClose));
  EXPECT_NE(ready.find("is shutting down"), ready.npos);
  // Connections close with their answer.
  EXPECT_NE(ask(get("/v2/health/live")).find(" 200 "), std::string::npos);

  send_signal(SIGTERM);  // ends it now
  running.get();
}

TEST_F(RunningServer, SighupWithNothingToReadAgainChangesNothing) {
  start();
  if (IsSkipped()) return;

  send_signal(SIGHUP);

  EXPECT_NE(ask(get("/v2/health/ready", kClose)).find(" 200 "),
            std::string::npos);
}

TEST_F(RunningServer, HeadIsGetWithoutABody) {
  start();
  if (IsSkipped()) return;
  const std::string rest = " HTTP/1.1\r\nHost: localhost\r\n" + kClose + "\r\n";
  const std::string whole = ask("GET /v2" + rest);

  EXPECT_EQ(ask("HEAD /v2" + rest),
            whole.substr(0, whole.find("\r\n\r\n") + 4));
  const std::string refused = ask("HEAD /v2/models/m/infer" + rest);
  EXPECT_NE(refused.find(" 405 "), refused.npos);
  EXPECT_NE(refused.find("\r\nAllow: POST\r\n"), refused.npos) << refused;
  const std::string events = ask("HEAD /v2/models/m/events" + rest);
  EXPECT_NE(events.find("text/event-stream"), events.npos) << events;
}

TEST_F(RunningServer, AnOlderClientIsToldThatItsConnectionStaysOpen) {
  start();
  if (IsSkipped()) return;
  const LoopbackSocket connection(address);

  for (int i = 0; i < 2; ++i) {
    connection.send(
        "GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const std::string answer = connection.read_until("true}");
    EXPECT_NE(answer.find("Connection: keep-alive\r\n"), answer.npos) << answer;
  }
}

TEST_F(RunningServer, AnOlderClientGetsOneAnswerWhateverItExpects) {
  start();
  if (IsSkipped()) return;

  const std::string answer =
      ask("POST /v2/repository/index HTTP/1.0\r\nExpect: 100-continue\r\n"
          "Content-Length: 2\r\n\r\n{}");

  EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK") << answer;
}

TEST_F(RunningServer, ATargetMayNameAHostThatIsAllowed) {
  start();
  if (IsSkipped()) return;

  EXPECT_NE(ask(get("http://127.0.0.1:1/v2", kClose)).find(" 200 "),
            std::string::npos);
  EXPECT_NE(ask(get("http://elsewhere.example/v2", kClose)).find(" 403 "),
            std::string::npos);
}

}  // namespace
}  // namespace sotta
