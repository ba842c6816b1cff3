#include "ranks.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta::cli {
namespace {

using testing::expect_error;

// An environment of launchers that holds these variables and no others.
class Ranks : public ::testing::Test {
 protected:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  void TearDown() override { set({}); }

  void set(const Variables& variables) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
          "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
          "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_PROCID", "SLURM_NTASKS",
          "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
          "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT"})
      ::unsetenv(name);
    for (const auto& [name, value] : variables)
      ::setenv(name.c_str(), value.c_str(), 1);
  }

  std::optional<RankOptions> found(const Variables& variables) {
    set(variables);
    return ranks_from_environment();
  }

  std::string address_for(const std::string& nodes) {
    return found({{"SLURM_PROCID", "1"},
                  {"SLURM_NTASKS", "4"},
                  {"SLURM_JOB_NODELIST", nodes}})
        .value()
        .address;
  }
};

TEST_F(Ranks, OneProcessIsNone) {
  EXPECT_FALSE(found({}));
  EXPECT_FALSE(found({{"RANK", "1"}}));
  EXPECT_FALSE(found({{"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(found({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(found({{"RANK", ""}, {"WORLD_SIZE", ""}}));
}

TEST_F(Ranks, TorchrunSaysPlacePortAndRestarts) {
  const auto few =
      found({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}});
  ASSERT_TRUE(few);
  EXPECT_EQ(few->rank, 2);
  EXPECT_EQ(few->world, 4);
  EXPECT_EQ(few->address, "10.0.0.1");
  EXPECT_EQ(few->port, RankOptions().port);
  EXPECT_TRUE(few->hosts);
  EXPECT_EQ(few->restarts, 0);
  const auto all = found({{"RANK", "1"},
                          {"WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "host"},
                          {"MASTER_PORT", "1234"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                          {"TORCHELASTIC_RESTART_COUNT", "3"}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->port, 1234);
  EXPECT_FALSE(all->hosts);
  EXPECT_EQ(all->restarts, 3);
}

TEST_F(Ranks, OpenMpiOnOneMachineNeedsNoAddress) {
  const auto ranks = found({{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}});
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->rank, 1);
  EXPECT_EQ(ranks->world, 3);
  EXPECT_EQ(ranks->address, "127.0.0.1");
  expect_error(ErrorKind::kInvalid,
               "MASTER_ADDR: expected the address of the machine that rank 0 "
               "runs on",
               [&] {
                 found({{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "3"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
               });
}

TEST_F(Ranks, SlurmsFirstNodeIsWhereRankZeroRuns) {
  EXPECT_EQ(address_for("alone"), "alone");
  EXPECT_EQ(address_for("a,b"), "a");
  EXPECT_EQ(address_for("node[03-05,9],other"), "node03");
  EXPECT_EQ(address_for("node[7,9]"), "node7");
  EXPECT_EQ(address_for("node[12]"), "node12");
  EXPECT_EQ(address_for("first,node[03-05]"), "first");
  EXPECT_EQ(address_for("[1-2]"), "1");
  const auto step = found({{"SLURM_PROCID", "3"},
                           {"SLURM_NTASKS", "4"},
                           {"SLURM_STEP_NODELIST", "step"},
                           {"SLURM_JOB_NODELIST", "job"}});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->rank, 3);
  EXPECT_EQ(step->world, 4);
  EXPECT_EQ(step->address, "step");
}

TEST_F(Ranks, ALaunchersOwnWordsComeFirst) {
  const auto ranks = found({{"RANK", "1"},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "master"},
                            {"OMPI_COMM_WORLD_RANK", "5"},
                            {"OMPI_COMM_WORLD_SIZE", "6"},
                            {"SLURM_PROCID", "7"},
                            {"SLURM_NTASKS", "8"},
                            {"SLURM_JOB_NODELIST", "node"}});
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->rank, 1);
  EXPECT_EQ(ranks->world, 2);
  EXPECT_EQ(ranks->address, "master");
}

TEST_F(Ranks, WhatIsNoNumberIsRefusedWithItsName) {
  expect_error(ErrorKind::kInvalid, "RANK: expected a whole number, got \"x\"",
               [&] {
                 found({{"RANK", "x"}, {"WORLD_SIZE", "2"}});
               });
  expect_error(ErrorKind::kInvalid, "MASTER_PORT: expected a whole number",
               [&] {
                 found({{"RANK", "0"},
                        {"WORLD_SIZE", "2"},
                        {"MASTER_ADDR", "a"},
                        {"MASTER_PORT", "y"}});
               });
}

}  // namespace
}  // namespace sotta::cli
