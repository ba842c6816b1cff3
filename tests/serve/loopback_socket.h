#pragma once

#include <cstdint>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sotta::testing {

// A connection on loopback, closed at the end.
class LoopbackSocket {
 public:
  explicit LoopbackSocket(int descriptor) : socket_(descriptor) {}

  // To the port of "http://127.0.0.1:PORT".
  explicit LoopbackSocket(const std::string& address)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(
        std::stoi(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to),
        0);
  }
  ~LoopbackSocket() { ::close(socket_); }
  LoopbackSocket(const LoopbackSocket&) = delete;
  LoopbackSocket& operator=(const LoopbackSocket&) = delete;

  void send(const std::string& text) const {
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t more =
          ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(more, 0);
      sent += static_cast<size_t>(more);
    }
  }

  // What comes until this is in it, or until the end.
  std::string read_until(const std::string& part) const {
    std::string text;
    while (text.find(part) == std::string::npos && receive(text)) {
    }
    return text;
  }
  std::string read_all() const {
    std::string text;
    while (receive(text)) {
    }
    return text;
  }

 private:
  // Appends what has come; false at the end.
  bool receive(std::string& text) const {
    char bytes[4096];
    const ssize_t more = ::recv(socket_, bytes, sizeof bytes, 0);
    if (more > 0) text.append(bytes, static_cast<size_t>(more));
    return more > 0;
  }

  int socket_;
};

// Takes connections on a free port of loopback, and answers none by itself.
class LoopbackListener {
 public:
  LoopbackListener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&place), size), 0);
    EXPECT_EQ(::listen(socket_, 64), 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
  }
  ~LoopbackListener() { ::close(socket_); }
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  std::string address() const {
    return "http://127.0.0.1:" + std::to_string(port_);
  }
  int accept() const { return ::accept(socket_, nullptr, nullptr); }

  // Whether a connection waits to be accepted.
  bool has_waiting() const {
    pollfd ready = {socket_, POLLIN, 0};
    return ::poll(&ready, 1, 0) == 1;
  }

 private:
  int socket_;
  int port_ = 0;
};

}  // namespace sotta::testing
