#include "usage_error.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta::cli {
namespace {

// A program with two verbs, one of which has verbs of its own.
struct Program {
  CLI::App app{"", "sotta"};
  std::string model, dataset, root;
  int64_t seed = 0;
  double rate = 0;
  bool cuda_graphs = false, json = false;
  std::vector<int64_t> seeds;
  std::vector<std::string> names;

  Program() {
    app.require_subcommand(1);
    auto* eval = app.add_subcommand("eval");
    eval->add_option("--model", model)->required();
    eval->add_option("--dataset", dataset)->required();
    eval->add_option("--seed", seed);
    eval->add_option("--seeds", seeds)->delimiter(',');
    eval->add_option("--rate", rate);
    eval->add_option("--cuda-graphs", cuda_graphs);
    eval->add_flag("--json", json);
    auto* mean = eval->add_option("--mean", rate);
    auto* std = eval->add_option("--std", rate);
    mean->needs(std);
    std->needs(mean);
    auto* data = app.add_subcommand("data");
    data->add_option("--data", root);
    data->fallthrough();
    data->add_subcommand("check");
    data->add_subcommand("get")->add_option("name", names)->required();
    data->require_subcommand(0, 1);
  }
};

std::string problem_of(const std::string& arguments) {
  Program program;
  try {
    program.app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return usage_problem(program.app, error);
  }
  return "no error";
}

const std::string kFine = "eval --model m --dataset d ";

TEST(UsageError, UnknownFlagsAreSuggested) {
  EXPECT_EQ(problem_of(kFine + "--sede 1"),
            "eval: unknown flag \"--sede\", did you mean \"--seed\"?");
  EXPECT_EQ(
      problem_of(kFine + "--cuda-grahps=true"),
      "eval: unknown flag \"--cuda-grahps\", did you mean \"--cuda-graphs\"?");
  EXPECT_EQ(problem_of(kFine + "-model x"),
            "eval: unknown flag \"-model\", did you mean \"--model\"?");
  EXPECT_EQ(problem_of(kFine + "--unheard-of 1"),
            "eval: unknown flag \"--unheard-of\"");
}

TEST(UsageError, SeveralAreQuotedInTheOrderTyped) {
  EXPECT_EQ(problem_of(kFine + "--zzzzzz 1 --sede 2 --aaaaaaa"),
            "eval: unknown flag \"--zzzzzz\"; unknown flag \"--sede\", did you "
            "mean \"--seed\"?; unknown flag \"--aaaaaaa\"");
}

TEST(UsageError, WhatWasMistypedExplainsWhatIsMissing) {
  EXPECT_EQ(problem_of("eval --modle m --dataset d"),
            "eval: unknown flag \"--modle\", did you mean \"--model\"?");
}

TEST(UsageError, MissingFlagsAreNamedTogether) {
  EXPECT_EQ(problem_of("eval --seed 1"),
            "eval: expected --model and --dataset, see `sotta eval --help`");
  EXPECT_EQ(problem_of("data get"),
            "data get: expected name, see `sotta data get --help`");
}

TEST(UsageError, AMissingValueIsAskedFor) {
  EXPECT_EQ(problem_of(kFine + "--seed"),
            "eval: --seed: expected a whole number after it");
}

TEST(UsageError, AFlagIsNoValueOfAnother) {
  const Program program;
  const auto refuses = [&](const std::vector<std::string>& words,
                           const std::string& problem) {
    testing::expect_error(ErrorKind::kInvalid, problem,
                          [&] { check_values(program.app, words); });
  };
  refuses({"eval", "--model", "--dataset", "d"},
          "--model: expected a value after it, got the flag --dataset");
  refuses({"eval", "--seed", "--rate=2"},
          "--seed: expected a whole number after it, got the flag --rate=2");
  refuses({"eval", "--model=", "--dataset", "d"},
          "--model: expected a value after the =");
  check_values(program.app, {});
  check_values(program.app, {"eval", "--model=--x", "--seed", "-5", "--json",
                             "--dataset", "--unknown", "--seed"});
}

TEST(UsageError, ValuesOfAnotherTypeAreQuoted) {
  EXPECT_EQ(problem_of(kFine + "--seed x1"),
            "eval: --seed: expected a whole number, got \"x1\"");
  EXPECT_EQ(problem_of(kFine + "--seed 1.5"),
            "eval: --seed: expected a whole number, got \"1.5\"");
  EXPECT_EQ(problem_of(kFine + "--seeds 1,b"),
            "eval: --seeds: expected a whole number, got \"1\", \"b\"");
  EXPECT_EQ(problem_of(kFine + "--rate fast"),
            "eval: --rate: expected a number, got \"fast\"");
  EXPECT_EQ(problem_of(kFine + "--cuda-graphs perhaps"),
            "eval: --cuda-graphs: expected true or false, got \"perhaps\"");
}

TEST(UsageError, AFlagThatIsGivenTwiceIsSaid) {
  EXPECT_EQ(problem_of(kFine + "--seed 1 --seed 2"),
            "eval: --seed: expected it once, got \"1\", \"2\"");
}

TEST(UsageError, WhatAFlagNeedsIsNamed) {
  EXPECT_EQ(problem_of(kFine + "--mean 1"), "eval: --mean: requires --std");
  EXPECT_EQ(problem_of(kFine + "--std 1"), "eval: --std: requires --mean");
}

TEST(UsageError, WordsThatBelongToNothingAreQuoted) {
  EXPECT_EQ(problem_of(kFine + "more words"),
            "eval: unexpected arguments \"more\", \"words\"");
  EXPECT_EQ(problem_of("data chekc"),
            "data: unexpected argument \"chekc\", did you mean \"check\"?");
  EXPECT_EQ(problem_of("data check chekc"),
            "data check: unexpected argument \"chekc\"");
  EXPECT_EQ(problem_of("data check --dat x"),
            "data check: unknown flag \"--dat\", did you mean \"--data\"?");
}

TEST(UsageError, OfOtherProblemsTheNameOfTheFlagIsLeftOut) {
  const Program program;
  const CLI::Option& seed =
      *program.app.get_subcommand("eval")->get_option("--seed");
  const auto problem = [&](const std::string& text) {
    return value_problem(seed, CLI::ValidationError(text));
  };
  EXPECT_EQ(problem("--seed: is odd"), "is odd");
  EXPECT_EQ(problem("--seed is odd"), "is odd");
  EXPECT_EQ(problem("odd: --seed"), "odd: --seed");
  EXPECT_EQ(problem("--seed: "), "--seed: ");
}

TEST(UsageError, WithoutAVerbTheVerbsAreListed) {
  EXPECT_EQ(problem_of(""), "expected a verb: eval, data");
  EXPECT_EQ(problem_of("--verison"), "unknown flag \"--verison\"");
}

}  // namespace
}  // namespace sotta::cli
