#include "config_file.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta::cli {
namespace {

using testing::expect_error;
using testing::TempDir;

// A command with a flag of every type.
struct Command {
  CLI::App app;
  int64_t limit = 1;
  double rate = 0.5;
  bool cuda_graphs = false, list = false;
  std::string out = "runs", config;
  std::vector<std::string> method;
  std::vector<int64_t> seeds;

  Command() {
    app.add_option("--config", config);
    app.add_option("--limit", limit);
    app.add_option("--lost-after", rate);
    app.add_option("--cuda-graphs", cuda_graphs);
    app.add_flag("--list", list);
    app.add_option("--out", out);
    app.add_option("--method", method)->delimiter(',');
    app.add_option("--seeds", seeds)->delimiter(',');
  }

  void read(const std::string& text) {
    const TempDir folder;
    read_config_file(folder.write("c.toml", text), app);
  }
};

void expect_refused(const std::string& text, const std::string& part) {
  expect_error(ErrorKind::kInvalid, part, [&] { Command().read(text); });
}

TEST(ConfigFile, KeysSetFlagsOfEveryType) {
  Command command;
  command.read(
      "limit = 7\nlost_after = 2.5\ncuda_graphs = true\nlist = true\nout = \"x "
      "y\"\n"
      "method = [\n  \"tent\",\n  \"sotta\"]\nseeds = [3, 4]\n");
  EXPECT_EQ(command.limit, 7);
  EXPECT_EQ(command.rate, 2.5);
  EXPECT_TRUE(command.cuda_graphs);
  EXPECT_TRUE(command.list);
  EXPECT_EQ(command.out, "x y");
  EXPECT_EQ(command.method, (std::vector<std::string>{"tent", "sotta"}));
  EXPECT_EQ(command.seeds, (std::vector<int64_t>{3, 4}));
}

TEST(ConfigFile, CommasInTextSeparateAsOnTheCommandLine) {
  Command command;
  command.read("method = \"tent,sotta\"\nlist = false\n");
  EXPECT_EQ(command.method, (std::vector<std::string>{"tent", "sotta"}));
  EXPECT_FALSE(command.list);
}

TEST(ConfigFile, AFlagOnTheCommandLineWins) {
  Command command;
  command.app.parse("--limit 9 --seeds 1");
  command.read("limit = 7\nseeds = [3, 4]\nlost-after = 2\n");
  EXPECT_EQ(command.limit, 9);
  EXPECT_EQ(command.seeds, std::vector<int64_t>{1});
  EXPECT_EQ(command.rate, 2);
}

TEST(ConfigFile, UnknownKeysAreSuggestedWithTheirLine) {
  expect_refused("limit = 1\nmethdo = \"x\"\n",
                 "c.toml line 2: unknown name \"methdo\", did you mean "
                 "\"method\"?");
  expect_refused("config = \"other.toml\"\n", "unknown name \"config\"");
}

TEST(ConfigFile, TwoSpellingsOfOneFlagAreOneTooMany) {
  expect_refused(
      "lost-after = 1\nlost_after = 2\n",
      "c.toml line 2: lost_after is set in line 1 already, as lost-after");
}

TEST(ConfigFile, AKeyThatIsAFlagsOldNameSetsTheFlag) {
  Command command;
  command.read("replay = true\n");
  EXPECT_TRUE(command.cuda_graphs);
}

TEST(ConfigFile, AFlagWinsOverItsOldNameInAFile) {
  Command command;
  command.app.parse("--cuda-graphs false");
  command.read("replay = true\n");
  EXPECT_FALSE(command.cuda_graphs);
}

TEST(ConfigFile, TheOldNameBesideTheNewIsOneTooMany) {
  expect_refused(
      "cuda_graphs = true\nreplay = false\n",
      "c.toml line 2: replay is set in line 1 already, as cuda_graphs");
}

TEST(ConfigFile, AValueThatTheFlagRefusesNamesLineAndKey) {
  expect_refused("\nlimit = \"many\"\n",
                 "c.toml line 2: limit: expected a whole number, got \"many\"");
  expect_refused("lost-after = \"soon\"\n", "expected a number, got \"soon\"");
  expect_refused("cuda_graphs = \"perhaps\"\n",
                 "expected true or false, got \"perhaps\"");
  expect_refused("limit = [1, 2]\n",
                 "limit: expected it once, got \"1\", \"2\"");
  expect_refused("seeds = [1, \"x\"]\n", "seeds: expected a whole number");
}

}  // namespace
}  // namespace sotta::cli
