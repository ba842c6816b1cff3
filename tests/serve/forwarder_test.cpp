#include "serve/fleet/forwarder.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "serve/http/server.h"
#include "tests/serve/loopback_socket.h"

namespace sotta {
namespace {

using testing::LoopbackListener;
using testing::LoopbackSocket;

// A server that owns streams, which the tests answer for: left alone it is one
// that was stopped.
class ForwarderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      require_http_server();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  StreamElsewhere elsewhere(int64_t lapses_ms) const {
    StreamElsewhere where;
    where.address = owner.address();
    where.lapses_ms = lapses_ms;
    return where;
  }

  // What became of a request: its answer's status, or 0 if it is tried again.
  std::future<int> forward(Forwarder& forwarder, const std::string& key,
                           int64_t lapses_ms, bool is_repeatable) const {
    const auto outcome = std::make_shared<std::promise<int>>();
    forwarder.forward(
        key, {"POST", "/" + key, {}, "body"}, elsewhere(lapses_ms),
        is_repeatable,
        {[outcome](const HttpResponse& response) {
           outcome->set_value(response.status);
         },
         [outcome] { outcome->set_value(0); }, [this] { ++gone; }});
    return outcome->get_future();
  }

  LoopbackListener owner;
  mutable std::atomic<int> gone{0};  // nobody listened there, so often
};

constexpr const char* kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

TEST_F(ForwarderTest, OneThatWaitedUntilTheLeaseLapsedIsNotSent) {
  Forwarder forwarder({/*threads=*/1});
  auto first = forward(forwarder, "first", 100, true);
  auto second = forward(forwarder, "second", 0, true);  // behind it

  EXPECT_EQ(first.get(), 0);
  EXPECT_EQ(second.get(), 0);
  const LoopbackSocket only(owner.accept());
  EXPECT_FALSE(owner.has_waiting());
}

TEST_F(ForwarderTest, WhatMustNotBeSentTwiceIsGivenUpWithTheLease) {
  Forwarder forwarder({});

  auto outcome = forward(forwarder, "s", 100, false);

  ASSERT_EQ(outcome.wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  EXPECT_EQ(outcome.get(), 503);
}

TEST_F(ForwarderTest, SaysWhereNobodyListens) {
  Forwarder forwarder({});
  EXPECT_EQ(forward(forwarder, "stopped", 100, true).get(), 0);
  EXPECT_EQ(gone, 0);
  StreamElsewhere nowhere = elsewhere(60000);
  nowhere.address = LoopbackListener().address();  // is closed

  for (const bool is_repeatable : {true, false}) {
    std::promise<int> outcome;
    forwarder.forward(
        "s", {"GET", "/", {}, ""}, nowhere, is_repeatable,
        {[&](const HttpResponse& answer) { outcome.set_value(answer.status); },
         [&] { outcome.set_value(0); }, [&] { ++gone; }});
    EXPECT_EQ(outcome.get_future().get(), 0);
  }

  EXPECT_EQ(gone, 2);
}

TEST_F(ForwarderTest, AServerThatLivesIsWaitedForLongerThanItsLease) {
  Forwarder forwarder({});

  auto outcome = forward(forwarder, "s", 100, false);
  const LoopbackSocket request(owner.accept());
  EXPECT_EQ(request.read_until("body").substr(0, 7), "POST /s");
  {
    const LoopbackSocket question(owner.accept());  // the lease has lapsed
    EXPECT_EQ(question.read_until("\r\n\r\n").substr(0, 20),
              "GET /v2/health/live ");
    question.send(kAnswer);
  }
  request.send(kAnswer);

  EXPECT_EQ(outcome.get(), 200);
}

TEST_F(ForwarderTest, AnAnswerOfAServerThatHasNotTheStreamIsNone) {
  Forwarder forwarder({});

  auto outcome = forward(forwarder, "s", 60000, false);
  const LoopbackSocket request(owner.accept());
  request.read_until("body");
  request.send(
      "HTTP/1.1 503 Gone\r\nSotta-Elsewhere: 1\r\nContent-Length: 0\r\n\r\n");

  EXPECT_EQ(outcome.get(), 0);
}

}  // namespace
}  // namespace sotta
