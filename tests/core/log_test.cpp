#include "sotta/core/log.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Log, IsSilentWithoutASink) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();

  log(LogLevel::kWarning, "nobody listens");

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Log, GivesMessagesToTheSinkUntilItIsTakenAway) {
  std::vector<std::pair<LogLevel, std::string>> received;
  set_log_sink([&](LogLevel level, const std::string& message) {
    received.emplace_back(level, message);
  });

  log(LogLevel::kInfo, "first");
  log(LogLevel::kWarning, "second");
  set_log_sink(nullptr);
  log(LogLevel::kInfo, "third");

  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0], std::make_pair(LogLevel::kInfo, std::string("first")));
  EXPECT_EQ(received[1],
            std::make_pair(LogLevel::kWarning, std::string("second")));
}

}  // namespace
}  // namespace sotta
