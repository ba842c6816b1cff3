#include "eval/key_store.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// A socket and its port.
std::pair<int, int64_t> bound_socket() {
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
int64_t free_port() {
  const auto [listener, port] = bound_socket();
  close(listener);
  return port;
}

// Null where LibTorch has no store.
std::unique_ptr<KeyStore> connect(int64_t rank, int64_t port,
                                  double lost_after = 10) {
  RankOptions options;
  options.rank = rank;
  options.world = 2;
  options.port = port;
  options.lost_after = lost_after;
  try {
    return connect_key_store(options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return nullptr;
  }
}

TEST(KeyStore, TwoProcessesSeeTheSameValues) {
  const int64_t port = free_port();
  const auto host = connect(0, port);
  if (!host) GTEST_SKIP() << "LibTorch without c10d";
  const auto guest = connect(1, port);

  EXPECT_EQ(host->compare_set("a", "", "first"), "first");
  EXPECT_EQ(guest->compare_set("a", "", "second"), "first");
  EXPECT_EQ(guest->compare_set("a", "first", "second"), "second");
  host->set("a", "third");
  EXPECT_EQ(guest->compare_set("a", "", "fourth"), "third");
  EXPECT_EQ(host->add("n", 2), 2);
  EXPECT_EQ(guest->add("n", 0), 2);
}

TEST(KeyStore, TheHostSaysSoWhenItsPortIsTaken) {
  const int64_t port = free_port();
  const auto first = connect(0, port);
  if (!first) GTEST_SKIP() << "LibTorch without c10d";
  testing::expect_error(ErrorKind::kIo, "the port cannot be opened",
                        [&] { connect(0, port); });
}

TEST(KeyStore, SaysSoWhenTheHostIsGone) {
  const int64_t port = free_port();
  auto host = connect(0, port);
  if (!host) GTEST_SKIP() << "LibTorch without c10d";
  const auto guest = connect(1, port);
  host.reset();
  EXPECT_THROW(guest->add("n", 1), Error);
}

TEST(KeyStore, SaysSoWhenNoHostComes) {
  const int64_t port = free_port();
  if (!connect(0, free_port())) GTEST_SKIP() << "LibTorch without c10d";
  testing::expect_error(
      ErrorKind::kIo, "rank 0 cannot be reached, waited for it for 0.1 seconds",
      [&] { connect(1, port, 0.1); });
}

// As one on a machine that was switched off: the system takes the connection,
// and nobody answers.
TEST(KeyStore, SaysSoWhenTheHostIsSilent) {
  if (!connect(0, free_port())) GTEST_SKIP() << "LibTorch without c10d";
  const auto [listener, port] = bound_socket();
  listen(listener, 8);
  testing::expect_error(
      ErrorKind::kIo, "rank 0 cannot be reached, waited for it for 0.2 seconds",
      [&, number = port] { connect(1, number, 0.2); });
  // The listener stays: were it closed now, LibTorch 1.13's watching thread
  // would end the whole process.
}

}  // namespace
}  // namespace sotta
