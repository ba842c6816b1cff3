#include "serve/http/server.h"

#include <atomic>
#include <future>
#include <stdexcept>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::small_model;
using testing::SmallService;

// A connection that has sent a request, and does not wait for the answer.
class Asked {
 public:
  Asked(const std::string& address, const std::string& target)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(
        std::stoi(address.substr(address.rfind(':') + 1))));
    const std::string text =
        "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to),
        0);
    EXPECT_EQ(::write(socket_, text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  ~Asked() { ::close(socket_); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

 private:
  int socket_;
};

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

  const Asked waits_for_a_worker(server->address(), "/v2/models/m/streams/a");
  broken = true;
  const Asked breaks_it(server->address(), "/v2");

  EXPECT_THROW(running.get(), std::runtime_error);
  server.reset();
  EXPECT_EQ(small.send("GET", "/v2/health/ready").status, 503);
}

}  // namespace
}  // namespace sotta
