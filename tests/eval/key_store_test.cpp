#include "eval/key_store.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"
#include "tests/support/free_port.h"

namespace sotta {
namespace {

using testing::bound_socket;
using testing::free_port;

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

TEST(KeyStore, AValueThatIsSetIsThereForAllAtOnce) {
  const int64_t port = free_port();
  const auto host = connect(0, port);
  if (!host) GTEST_SKIP() << "LibTorch without c10d";
  const auto guest = connect(1, port);

  for (int i = 0; i < 300; ++i) {
    const std::string value = std::to_string(i);
    guest->set("a", value);
    ASSERT_EQ(host->compare_set("a", "none", "x"), value);
    ASSERT_EQ(host->add("n", 3), 3 * (i + 1));
  }
}

TEST(KeyStore, EveryErrorNamesThePlace) {
  const int64_t port = free_port();
  auto host = connect(0, port);
  if (!host) GTEST_SKIP() << "LibTorch without c10d";
  const std::string place = "127.0.0.1:" + std::to_string(port) + ": ";
  testing::expect_error(ErrorKind::kIo, place + "the port cannot be opened",
                        [&] { connect(0, port); });
  const auto guest = connect(1, port);
  guest->add("n", 1);
  host.reset();
  testing::expect_error(ErrorKind::kIo,
                        place +
                            "rank 0 cannot be reached, expected it to run as "
                            "long as the others do",
                        [&] { guest->add("n", 1); });
  testing::expect_error(
      ErrorKind::kIo,
      place +
          "rank 0 cannot be reached, waited for it for 0.1 seconds "
          "(--lost-after)",
      [&] { connect(1, port, 0.1); });
}

// As under torchrun, whose agent has opened the port.
TEST(KeyStore, RankZeroMayMeetTheOthersInAStoreOfSomebodyElse) {
  const int64_t port = free_port();
  const auto agent = connect(0, port);
  if (!agent) GTEST_SKIP() << "LibTorch without c10d";
  RankOptions options;
  options.port = port;
  options.hosts = false;
  const auto zero = connect_key_store(options);

  agent->set("a", "agent's");
  EXPECT_EQ(zero->compare_set("a", "", "mine"), "agent's");
}

}  // namespace
}  // namespace sotta
