#include "process.h"

#include <cstdlib>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "sotta/core/threads.h"

#include "tests/support/expect_error.h"

namespace sotta::cli {
namespace {

TEST(Process, TheDataRootIsTheFlagsElseTheEnvironmentsElseData) {
  ::setenv("SOTTA_DATA", "from the environment", 1);
  EXPECT_EQ(data_root("flag"), "flag");
  EXPECT_EQ(data_root(""), "from the environment");
  ::setenv("SOTTA_DATA", "", 1);
  EXPECT_EQ(data_root(""), "data");
  ::unsetenv("SOTTA_DATA");
  EXPECT_EQ(data_root(""), "data");
}

TEST(Process, ThreadsAreThoseAskedForAndAllCoresForZero) {
  const int before = at::get_num_threads();
  EXPECT_EQ(use_threads(3), 3);
  EXPECT_EQ(at::get_num_threads(), 3);
  EXPECT_EQ(use_threads(0), available_cores());
  EXPECT_EQ(at::get_num_threads(), available_cores());
  testing::expect_error(ErrorKind::kInvalid, "--threads: expected 0 to ",
                        [] { use_threads(-1); });
  use_threads(before);
}

// Numbers with dots between.
TEST(Process, TheVersionOfLibTorchIsANumber) {
  const std::string version = libtorch_version();
  EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos)
      << version;
  EXPECT_NE(version.find('.'), std::string::npos) << version;
}

}  // namespace
}  // namespace sotta::cli
