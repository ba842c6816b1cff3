#pragma once

#include <cstdint>
#include <random>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sotta::testing {

// A bound socket that does not listen yet, and its port. The port lies below
// those that systems give to outgoing connections (32768 and up on Linux):
// after it is closed no connection of another test takes it.
inline std::pair<int, int64_t> bound_socket() {
  std::random_device device;
  std::uniform_int_distribution<uint16_t> ports(15000, 30000);
  while (true) {
    const int bound = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(ports(device));
    if (bind(bound, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return {bound, ntohs(address.sin_port)};
    close(bound);
  }
}

// A port that is free now.
inline int64_t free_port() {
  const auto [bound, port] = bound_socket();
  close(bound);
  return port;
}

}  // namespace sotta::testing
