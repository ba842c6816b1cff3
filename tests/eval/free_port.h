#pragma once

#include <cstdint>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sotta::testing {

// A socket of this machine's own choice that does not listen yet, and its port.
inline std::pair<int, int64_t> bound_socket() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return {listener, ntohs(address.sin_port)};
}

// A port that is free now.
inline int64_t free_port() {
  const auto [listener, port] = bound_socket();
  close(listener);
  return port;
}

}  // namespace sotta::testing
