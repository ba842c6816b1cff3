#include "eval/tcp_probe.h"

#include <future>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/free_port.h"

namespace sotta {
namespace {

// Listens on a port of this machine's own choice.
class Listener {
 public:
  Listener() : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(descriptor_, 4);
  }
  ~Listener() { stop(); }

  void stop() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  int64_t port() const { return port_; }

 private:
  int descriptor_;
  int64_t port_ = 0;
};

TEST(TcpProbe, FindsWhoListens) {
  Listener listener;
  EXPECT_TRUE(wait_for_listener("127.0.0.1", listener.port(), 0));
  EXPECT_TRUE(wait_for_listener("localhost", listener.port(), 0));
}

TEST(TcpProbe, GivesUpWhereNobodyComes) {
  Listener listener;
  listener.stop();
  EXPECT_FALSE(wait_for_listener("127.0.0.1", listener.port(), 0.05));
  EXPECT_FALSE(wait_for_listener("no.such.host.invalid", 80, 0));
}

TEST(TcpProbe, TellsAFreePortFromATakenOne) {
  Listener listener;
  EXPECT_FALSE(can_listen("127.0.0.1", listener.port()));
  listener.stop();
  EXPECT_TRUE(can_listen("127.0.0.1", listener.port()));
}

TEST(TcpProbe, AMachineIsNotReachedAtAnAddressOfNobody) {
  Listener listener;
  listener.stop();
  EXPECT_FALSE(can_listen("no.such.host.invalid", listener.port()));
}

TEST(TcpProbe, WaitsForOneThatIsNotThereYet) {
  const auto [listener, port] = testing::bound_socket();
  EXPECT_FALSE(wait_for_listener("127.0.0.1", port, 0));
  auto later = std::async(std::launch::async, [descriptor = listener] {
    return listen(descriptor, 4);
  });
  EXPECT_TRUE(wait_for_listener("127.0.0.1", port, 60));
  EXPECT_EQ(later.get(), 0);
  close(listener);
}

TEST(TcpProbe, LeavesThePortAsItWas) {
  const int64_t port = testing::free_port();
  for (int turn = 0; turn < 3; ++turn)
    EXPECT_TRUE(can_listen("localhost", port)) << turn;
  EXPECT_FALSE(wait_for_listener("localhost", port, 0));
}

}  // namespace
}  // namespace sotta
