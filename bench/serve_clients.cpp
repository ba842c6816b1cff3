// The clients of `serve_load.py batch`: many connections, each with one request
// in the air, by so few instructions that the server is what is measured.
//   serve_clients PORT THREADS WARM_UP SECONDS < REQUESTS
// REQUESTS holds, for each connection, a line with a length in bytes and then
// as many bytes of HTTP, which it sends again and again. Prints how many
// answers came in SECONDS, behind WARM_UP seconds that do not count, and the
// median and the 99th percentile of what they took, in milliseconds. An answer
// other than 200 ends it with code 1.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

using Clock = std::chrono::steady_clock;

struct Times {
  Clock::time_point begin, end;  // of what counts
};

struct Connection {
  int socket = -1;
  std::string request, read;
  Clock::time_point sent;
};

[[noreturn]] void fail_by_errno(const char* what) {
  fail(ErrorKind::kIo, what, std::strerror(errno));
}

int connect_to(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) fail_by_errno("socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0)
    fail_by_errno("connect");
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

// Requests are smaller than a socket's buffer, and the one before is answered:
// none of these calls waits.
void send(Connection& connection) {
  connection.sent = Clock::now();
  const std::string& request = connection.request;
  for (size_t at = 0; at < request.size();) {
    const ssize_t done = ::send(connection.socket, request.data() + at,
                                request.size() - at, MSG_NOSIGNAL);
    if (done < 0) fail_by_errno("send");
    at += static_cast<size_t>(done);
  }
}

size_t content_length(const std::string& head) {
  constexpr const char* kName = "\r\nContent-Length:";
  const char* found = ::strcasestr(head.c_str(), kName);
  require(found != nullptr, "answer", "expected a Content-Length");
  return std::stoull(found + std::strlen(kName));
}

// Whether what has been read is an answer as a whole, which is then taken out.
bool take_answer(std::string& read) {
  const size_t end = read.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::string head = read.substr(0, end);
  const size_t size = end + 4 + content_length(head);
  if (read.size() < size) return false;
  require(head.compare(8, 5, " 200 ") == 0, "answer",
          "expected 200, got " + read.substr(0, size));
  read.erase(0, size);
  return true;
}

bool receive(Connection& connection) {
  char part[1 << 16];
  const ssize_t size = ::recv(connection.socket, part, sizeof part, 0);
  if (size < 0) fail_by_errno("recv");
  require(size > 0, "server", "has closed a connection");
  connection.read.append(part, static_cast<size_t>(size));
  return take_answer(connection.read);
}

// Milliseconds of each answer that counts.
std::vector<float> drive(std::vector<Connection*> connections,
                         const Times& times) {
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  if (poll < 0) fail_by_errno("epoll_create1");
  for (Connection* connection : connections) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = connection;
    if (::epoll_ctl(poll, EPOLL_CTL_ADD, connection->socket, &event) != 0)
      fail_by_errno("epoll_ctl");
    send(*connection);
  }
  std::vector<float> taken;
  for (size_t in_the_air = connections.size(); in_the_air > 0;) {
    epoll_event events[64];
    const int count = ::epoll_wait(poll, events, 64, -1);
    if (count < 0 && errno != EINTR) fail_by_errno("epoll_wait");
    for (int i = 0; i < count; ++i) {
      auto& connection = *static_cast<Connection*>(events[i].data.ptr);
      if (!receive(connection)) continue;
      const auto now = Clock::now();
      if (now >= times.begin && now < times.end)
        taken.push_back(
            std::chrono::duration<float, std::milli>(now - connection.sent)
                .count());
      if (now < times.end)
        send(connection);
      else
        --in_the_air;
    }
  }
  ::close(poll);
  return taken;
}

std::vector<Connection> read_requests(std::istream& in, uint16_t port) {
  std::vector<Connection> connections;
  for (size_t size = 0; in >> size && in.get() == '\n';) {
    std::string request(size, '\0');
    in.read(request.data(), static_cast<std::streamsize>(size));
    require(in.good(), "requests", "expected as many bytes as announced");
    connections.push_back({connect_to(port), std::move(request), "", {}});
  }
  require(!connections.empty(), "requests", "expected one at least");
  return connections;
}

Clock::duration seconds(const char* text) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::stod(text)));
}

void run(char** arguments) {
  const auto port = static_cast<uint16_t>(std::stoul(arguments[1]));
  const size_t threads = std::stoul(arguments[2]);
  std::vector<Connection> connections = read_requests(std::cin, port);
  Times times;
  times.begin = Clock::now() + seconds(arguments[3]);
  times.end = times.begin + seconds(arguments[4]);
  std::vector<std::vector<float>> taken(threads);
  std::vector<std::thread> drivers;
  for (size_t i = 0; i < threads; ++i) {
    std::vector<Connection*> mine;
    for (size_t at = i; at < connections.size(); at += threads)
      mine.push_back(&connections[at]);
    drivers.emplace_back([&times, &mine_taken = taken[i], mine] {
      try {
        mine_taken = drive(mine, times);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        std::_Exit(1);
      }
    });
  }
  std::vector<float> all;
  for (size_t i = 0; i < threads; ++i) {
    drivers[i].join();
    all.insert(all.end(), taken[i].begin(), taken[i].end());
  }
  require(!all.empty(), "server", "expected an answer in the time given");
  std::sort(all.begin(), all.end());
  std::printf("%zu %.3f %.3f\n", all.size(), all[all.size() / 2],
              all[all.size() * 99 / 100]);
}

}  // namespace
}  // namespace sotta

int main(int argc, char** argv) {
  try {
    sotta::require(argc == 5, "serve_clients",
                   "expected PORT THREADS WARM_UP SECONDS");
    sotta::run(argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
