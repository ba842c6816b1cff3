#include "flags.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta::cli {
namespace {

// A program whose verb has flags of every type, and a verb of its own.
struct Program {
  CLI::App app{"", "sotta"};
  int64_t count = 0;
  double rate = 0;
  std::vector<int64_t> seeds;
  std::vector<double> means;
  std::string name;

  Program() {
    auto* verb = app.add_subcommand("run");
    verb->add_option("--count", count);
    verb->add_option("--rate", rate);
    verb->add_option("--seeds", seeds)->delimiter(',');
    verb->add_option("--means", means)->delimiter(',');
    verb->add_option("--name", name);
    verb->add_subcommand("inner")->add_option("--count", count);
    check_numbers(app);
  }

  void parse(const std::string& arguments) { app.parse("run " + arguments); }
};

// What is wrong with the arguments, or "fine".
std::string problem_of(const std::string& arguments) {
  try {
    Program().parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "fine";
}

TEST(Flags, NumbersAreReadAsTheyAreWritten) {
  Program program;
  program.parse(
      "--count 010 --rate 2.5e-1 --seeds 08,-9 --means .5,1 --name 010");
  EXPECT_EQ(program.count, 10);
  EXPECT_EQ(program.rate, 0.25);
  EXPECT_EQ(program.seeds, (std::vector<int64_t>{8, -9}));
  EXPECT_EQ(program.means, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(program.name, "010");
  program.parse("inner --count 0011");
  EXPECT_EQ(program.count, 11);
}

TEST(Flags, WhatIsNoNumberOfTheTypeIsRefused) {
  const auto refused = [](const std::string& arguments,
                          const std::string& problem) {
    EXPECT_NE(problem_of(arguments).find(problem), std::string::npos)
        << arguments << ": " << problem_of(arguments);
  };
  refused("--count 1x", "expected a whole number, got \"1x\"");
  refused("--count 1.5", "expected a whole number, got \"1.5\"");
  refused("--count 99999999999999999999",
          "expected a number that fits 64 bits, got \"99999999999999999999\"");
  refused("--seeds 1,2x", "expected a whole number, got \"2x\"");
  refused("--rate fast", "expected a number, got \"fast\"");
  refused("--rate nan", "expected a finite number, got nan");
  refused("--rate inf", "expected a finite number, got inf");
  refused("--means 1,nan", "expected a finite number, got nan");
  refused("inner --count 1x", "expected a whole number, got \"1x\"");
  EXPECT_EQ(problem_of("--name nan"), "fine");
}

using Words = std::vector<std::string>;

// A program of which one verb has a flag that was renamed.
struct RenamedProgram {
  CLI::App app{"", "sotta"};
  bool cuda_graphs = false, json = false;

  RenamedProgram() {
    app.add_subcommand("bench")->add_option("--cuda-graphs", cuda_graphs);
    app.add_subcommand("eval")->add_flag("--json", json);
  }

  Words read(const Words& words) const {
    return with_current_names(app, words);
  }
};

TEST(Flags, OldNamesAreReadAsTheNamesOfNow) {
  const RenamedProgram program;
  EXPECT_EQ(program.read({"bench", "--replay", "true", "--list"}),
            (Words{"bench", "--cuda-graphs", "true", "--list"}));
  EXPECT_EQ(program.read({"bench", "--replay=true"}),
            (Words{"bench", "--cuda-graphs=true"}));
  EXPECT_EQ(program.read({"bench", "--cuda-graphs", "true"}),
            (Words{"bench", "--cuda-graphs", "true"}));
}

TEST(Flags, WhatIsNoOldNameOfTheVerbStaysAsItIs) {
  const RenamedProgram program;
  EXPECT_EQ(program.read({}), Words{});
  EXPECT_EQ(program.read({"--replay"}), Words{"--replay"});
  EXPECT_EQ(program.read({"eval", "--replay", "true"}),
            (Words{"eval", "--replay", "true"}));
  EXPECT_EQ(program.read({"bench", "--replays", "replay"}),
            (Words{"bench", "--replays", "replay"}));
}

TEST(Flags, BothNamesOfOneFlagAreOneTooMany) {
  testing::expect_error(
      ErrorKind::kInvalid,
      "--replay: is what --cuda-graphs was called once, expected one of the "
      "two",
      [] {
        RenamedProgram().read(
            {"bench", "--replay", "true", "--cuda-graphs=false"});
      });
}

TEST(Flags, OnesThatChangeNothingAreRefused) {
  Program program;
  program.parse("--count 1 --seeds 2");
  const auto given = given_flags(*program.app.get_subcommands().front());
  EXPECT_EQ(given, (std::set<std::string>{"--count", "--seeds"}));
  require_effect(true, given, {"--count"}, "a GPU");
  require_effect(false, given, {"--rate"}, "a GPU");
  testing::expect_error(
      ErrorKind::kInvalid, "--seeds: has no effect without a GPU", [&] {
        require_effect(false, given, {"--rate", "--seeds"}, "a GPU");
      });
}

TEST(Flags, WhatIsAsItIsAnyhowIsNoChange) {
  CLI::App app;
  double margin = 0.1;
  std::string guard = "off", method = "sotta";
  int64_t window = 64;
  app.add_option("--margin", margin)->capture_default_str();
  app.add_option("--guard", guard)->capture_default_str();
  app.add_option("--method", method)->capture_default_str();
  app.add_option("--window", window)->capture_default_str();
  app.parse("--margin 0.10 --guard off --method tent --window 32");
  EXPECT_EQ(changed_flags(app),
            (std::set<std::string>{"--method", "--window"}));
}

}  // namespace
}  // namespace sotta::cli
