#include "sotta/stream/scenario.h"

#include <gtest/gtest.h>

#include "data/sets/catalog.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

TEST(Scenario, NamesAreThoseOfThePaperThenExtraOnes) {
  const std::vector<std::string> names = scenario_names();
  EXPECT_EQ(names, (std::vector<std::string>{"benign", "near", "far", "attack",
                                             "noise", "blank", "inverted",
                                             "shuffled"}));
  for (size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(find_scenario(names[i]).extra, i >= 5) << names[i];
}

TEST(Scenario, ForeignSetsAreThoseOfThePaper) {
  EXPECT_EQ(foreign_datasets("cifar10", "near")[0].dataset, "cifar100");
  EXPECT_EQ(foreign_datasets("cifar10", "near")[0].split, "train");
  EXPECT_EQ(foreign_datasets("cifar100", "near")[0].dataset, "imagenet");
  EXPECT_EQ(foreign_datasets("cifar100", "near")[1].dataset, "tiny-imagenet");
  EXPECT_EQ(foreign_datasets("imagenet", "near")[0].dataset, "cifar100");
  for (const char* target : {"cifar10", "cifar100", "imagenet"}) {
    EXPECT_EQ(foreign_datasets(target, "far")[0].dataset, "mnist");
    EXPECT_EQ(foreign_datasets(target, "far")[0].split, "test");
  }
  EXPECT_EQ(foreign_datasets("fashion-mnist", "near")[0].dataset, "mnist");
  EXPECT_EQ(foreign_datasets("fashion-mnist", "far")[0].dataset, "cifar10");
}

TEST(Scenario, EveryRuleIsPinned) {
  const auto text = [](const std::string& target, const std::string& scenario) {
    std::string all;
    for (const auto& [dataset, split] : foreign_datasets(target, scenario))
      all += (all.empty() ? "" : " ") + dataset + ":" + split;
    return all;
  };
  EXPECT_EQ(text("cifar10", "near"), "cifar100:train");
  EXPECT_EQ(text("cifar10", "far"), "mnist:test");
  EXPECT_EQ(text("cifar100", "near"), "imagenet:val tiny-imagenet:val");
  EXPECT_EQ(text("cifar100", "far"), "mnist:test");
  EXPECT_EQ(text("imagenet", "near"), "cifar100:train");
  EXPECT_EQ(text("imagenet", "far"), "mnist:test");
  EXPECT_EQ(text("tiny-imagenet", "near"), "cifar100:train");
  EXPECT_EQ(text("tiny-imagenet", "far"), "mnist:test");
  EXPECT_EQ(text("fashion-mnist", "near"), "mnist:test");
  EXPECT_EQ(text("fashion-mnist", "far"), "cifar10:test");
  EXPECT_EQ(text("mnist", "near"), "fashion-mnist:test");
  EXPECT_EQ(text("mnist", "far"), "cifar10:test");
}

TEST(Scenario, EveryRuleNamesASplitOfTheCatalogueAndNotTheTarget) {
  for (const DatasetEntry& entry : known_datasets()) {
    if (entry.layout == DatasetLayout::kNpy) continue;
    for (const char* scenario : {"near", "far"})
      for (const auto& choice : foreign_datasets(entry.name, scenario)) {
        EXPECT_NO_THROW(find_split(find_dataset(choice.dataset), choice.split));
        EXPECT_NE(choice.dataset, entry.name);
      }
  }
}

TEST(Scenario, OthersTakeNoDataset) {
  for (const char* scenario :
       {"benign", "attack", "noise", "blank", "inverted", "shuffled"})
    EXPECT_TRUE(foreign_datasets("cifar10", scenario).empty());
}

TEST(Scenario, SaysWhereForeignImagesComeFrom) {
  using Foreign = Scenario::Foreign;
  EXPECT_EQ(find_scenario("benign").foreign, Foreign::kNone);
  EXPECT_EQ(find_scenario("near").foreign, Foreign::kDataset);
  EXPECT_EQ(find_scenario("far").foreign, Foreign::kDataset);
  EXPECT_EQ(find_scenario("attack").foreign, Foreign::kAttacker);
  EXPECT_EQ(find_scenario("noise").foreign, Foreign::kGenerated);
  EXPECT_EQ(find_scenario("blank").foreign, Foreign::kGenerated);
  EXPECT_EQ(find_scenario("inverted").foreign, Foreign::kDerived);
  EXPECT_EQ(find_scenario("shuffled").foreign, Foreign::kDerived);
  for (const auto& name : scenario_names()) {
    EXPECT_EQ(find_scenario(name).has_foreign(), name != "benign");
    EXPECT_EQ(find_scenario(name).has_attacker(), name == "attack");
  }
}

TEST(Scenario, IsRefusedIfItsNameIsTakenOrItsFunctionMissing) {
  Scenario scenario;
  scenario.name = "noise";
  expect_error(ErrorKind::kInvalid, "\"noise\" is there already",
               [&] { register_scenario(scenario); });
  scenario.name = "fire";
  scenario.foreign = Scenario::Foreign::kGenerated;
  expect_error(ErrorKind::kInvalid, "scenario fire: expected a function",
               [&] { register_scenario(scenario); });
  for (const auto foreign :
       {Scenario::Foreign::kDataset, Scenario::Foreign::kDerived}) {
    scenario.foreign = foreign;
    expect_error(ErrorKind::kInvalid, "scenario fire: expected a function",
                 [&] { register_scenario(scenario); });
  }
  scenario.foreign = Scenario::Foreign::kDataset;
  expect_error(ErrorKind::kInvalid, "scenario fire: expected a function",
               [&] { register_scenario(scenario); });
}

TEST(Scenario, RefusesUnknownNames) {
  expect_error(ErrorKind::kInvalid, "did you mean \"near\"",
               [] { foreign_datasets("cifar10", "neer"); });
  expect_error(ErrorKind::kInvalid, "beside my-photos, name one",
               [] { foreign_datasets("my-photos", "far"); });
}

}  // namespace
}  // namespace sotta
