#include "eval/tcp_probe.h"

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sotta {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr auto kOneTry = std::chrono::milliseconds(1000);

class Socket {
 public:
  explicit Socket(int family)
      : descriptor_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  operator int() const { return descriptor_; }

 private:
  int descriptor_;
};

bool connects(const addrinfo& place, std::chrono::milliseconds patience) {
  const Socket socket(place.ai_family);
  if (socket < 0 || ::fcntl(socket, F_SETFL, O_NONBLOCK) != 0) return false;
  if (::connect(socket, place.ai_addr, place.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd ready{socket, POLLOUT, 0};
  if (::poll(&ready, 1, static_cast<int>(patience.count())) != 1) return false;
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem == 0;
}

bool answers(const std::string& address, int64_t port,
             std::chrono::milliseconds patience) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted,
                    &found) != 0)
    return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(
      found, &::freeaddrinfo);
  for (const addrinfo* place = found; place != nullptr; place = place->ai_next)
    if (connects(*place, patience)) return true;
  return false;
}

// On all interfaces, as the store does it.
bool listens(const Socket& socket, const sockaddr* place, socklen_t size) {
  const int on = 1;
  return socket >= 0 &&
         ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
         ::bind(socket, place, size) == 0 && ::listen(socket, 1) == 0;
}

}  // namespace

bool wait_for_listener(const std::string& address, int64_t port,
                       double seconds) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  while (!answers(address, port, kOneTry)) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

bool can_listen(const std::string& address, int64_t port) {
  const auto number = htons(static_cast<uint16_t>(port));
  sockaddr_in6 wide{};
  wide.sin6_family = AF_INET6;
  wide.sin6_port = number;
  sockaddr_in narrow{};
  narrow.sin_family = AF_INET;
  narrow.sin_port = number;
  const Socket six(AF_INET6), four(AF_INET);
  const bool open =
      listens(six, reinterpret_cast<const sockaddr*>(&wide), sizeof wide) ||
      listens(four, reinterpret_cast<const sockaddr*>(&narrow), sizeof narrow);
  return open && answers(address, port, kOneTry);
}

}  // namespace sotta
