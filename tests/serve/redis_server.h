#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "serve/fleet/redis_client.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_dir.h"

namespace sotta::testing {

inline bool has_redis_server() {
  return std::system("command -v redis-server >/dev/null 2>&1") == 0;
}

// A redis-server on a free port of loopback, with a folder of its own.
class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> options = {})
      : port(static_cast<int>(free_port())), options_(std::move(options)) {
    start();
  }
  ~RedisServer() { kill(); }

  RedisAddress address() const {
    RedisAddress address;
    address.port = port;
    return address;
  }

  void start() {
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      std::to_string(port),
                                      "--bind",
                                      "127.0.0.1",
                                      "--dir",
                                      folder_.path().string(),
                                      "--save",
                                      ""};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> arguments;
    for (std::string& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      const int nowhere = ::open("/dev/null", O_WRONLY);
      ::dup2(nowhere, 1);
      ::dup2(nowhere, 2);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    for (int tries = 0; tries < 400; ++tries) {
      if (listens()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    ADD_FAILURE() << "redis-server does not listen on port " << port;
  }

  // Takes requests, and answers none.
  void hang() { ::kill(process_, SIGSTOP); }

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  const int port;

 private:
  bool listens() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(static_cast<uint16_t>(port));
    const bool connected =
        ::connect(socket, reinterpret_cast<sockaddr*>(&place), sizeof place) ==
        0;
    ::close(socket);
    return connected;
  }

  const std::vector<std::string> options_;
  const TempDir folder_;
  pid_t process_ = 0;
};

// Tests with a Redis of their own; skipped where there is none, or no hiredis.
class WithRedis : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_redis_server()) GTEST_SKIP() << "redis-server is not installed";
    try {
      const RedisClient any{RedisAddress()};
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    redis = std::make_unique<RedisServer>();
  }

  std::unique_ptr<RedisServer> redis;
};

}  // namespace sotta::testing
