#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/fleet/redis_client.h"
#include "tests/support/free_port.h"

namespace sotta::testing {

// A server on loopback that speaks Redis' protocol and answers every command
// with what `answer` returns: bytes of that protocol.
class FakeRedis {
 public:
  using Answer = std::function<std::string(const RedisCommand&)>;

  explicit FakeRedis(Answer answer) : answer_(std::move(answer)) {
    EXPECT_EQ(::listen(bound_.first, 8), 0);
    threads_.emplace_back([this] { accept(); });
  }
  // Its clients are to be gone.
  ~FakeRedis() {
    ::shutdown(bound_.first, SHUT_RDWR);
    threads_.front().join();
    for (size_t i = 1; i < threads_.size(); ++i)
      threads_[i].join();
    ::close(bound_.first);
  }

  RedisAddress address() const {
    RedisAddress address;
    address.port = static_cast<int>(bound_.second);
    return address;
  }

 private:
  void accept() {
    for (;;) {
      const int socket = ::accept(bound_.first, nullptr, nullptr);
      if (socket < 0) return;
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }

  void serve(int socket) const {
    for (;;) {
      const RedisCommand command = read_command(socket);
      if (command.empty()) break;
      const std::string bytes = answer_(command);
      if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;
    }
    ::close(socket);
  }

  // "*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n"; nothing where the client has left.
  static RedisCommand read_command(int socket) {
    const std::string count = read_line(socket);
    if (count.empty()) return {};
    RedisCommand command(std::stoul(count.substr(1)));
    for (std::string& word : command) {
      word.resize(std::stoul(read_line(socket).substr(1)) + 2);
      ::recv(socket, word.data(), word.size(), MSG_WAITALL);
      word.resize(word.size() - 2);
    }
    return command;
  }

  static std::string read_line(int socket) {
    std::string line;
    char letter = 0;
    while (::recv(socket, &letter, 1, 0) == 1 && letter != '\n')
      line += letter;
    return line;
  }

  const Answer answer_;
  const std::pair<int, int64_t> bound_ = bound_socket();
  std::deque<std::thread> threads_;  // the first accepts and adds the others
};

}  // namespace sotta::testing
