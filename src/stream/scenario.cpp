#include "sotta/stream/scenario.h"

#include <map>
#include <utility>

#include "sotta/core/error.h"

#include "core/registry.h"
#include "stream/noise_dataset.h"
#include "stream/strange_images.h"

namespace sotta {
namespace {

struct ForeignSets {
  std::vector<DatasetChoice> near;
  std::vector<DatasetChoice> far;
};

// The paper's choices for CIFAR-10, CIFAR-100 and ImageNet; its authors' code
// takes ImageNet beside CIFAR-100, which Tiny ImageNet is a part of. For the
// grey images near is grey too and far is in colour.
const std::map<std::string, ForeignSets>& rules() {
  static const DatasetChoice mnist{"mnist", "test"};
  static const DatasetChoice cifar100{"cifar100", "train"};
  static const std::map<std::string, ForeignSets> sets = {
      {"cifar10", {{cifar100}, {mnist}}},
      {"cifar100", {{{"imagenet", "val"}, {"tiny-imagenet", "val"}}, {mnist}}},
      {"imagenet", {{cifar100}, {mnist}}},
      {"tiny-imagenet", {{cifar100}, {mnist}}},
      {"fashion-mnist", {{mnist}, {{"cifar10", "test"}}}},
      {"mnist", {{{"fashion-mnist", "test"}}, {{"cifar10", "test"}}}},
  };
  return sets;
}

std::vector<DatasetChoice> sets_beside(
    const std::string& target, std::vector<DatasetChoice> ForeignSets::*kind) {
  const auto rule = rules().find(target);
  return rule == rules().end() ? std::vector<DatasetChoice>()
                               : rule->second.*kind;
}

// Images are drawn from so many that two draws hardly ever meet.
constexpr int64_t kNoiseImages = int64_t{1} << 40;

std::shared_ptr<const Dataset> uniform_noise(const Rng& rng,
                                             const ImageShape& shape) {
  return std::make_shared<NoiseDataset>(rng, shape, kNoiseImages);
}

Scenario with_datasets(const std::string& name, const std::string& label,
                       std::vector<DatasetChoice> ForeignSets::*kind) {
  return {
      name, label, Scenario::Foreign::kDataset,
      [kind](const std::string& target) { return sets_beside(target, kind); }};
}

Scenario extra(const std::string& name, const std::string& label,
               Scenario::Foreign foreign) {
  Scenario scenario{name, label, foreign};
  scenario.extra = true;
  return scenario;
}

Scenario blank() {
  Scenario scenario = extra("blank", "Blank", Scenario::Foreign::kGenerated);
  scenario.generate = blank_images;
  return scenario;
}

Scenario inverted() {
  Scenario scenario =
      extra("inverted", "Inverted", Scenario::Foreign::kDerived);
  scenario.derive = inverted_images;
  return scenario;
}

Scenario shuffled() {
  Scenario scenario =
      extra("shuffled", "Shuffled", Scenario::Foreign::kDerived);
  scenario.derive = shuffled_images;
  return scenario;
}

Registry<Scenario>& registry() {
  using Foreign = Scenario::Foreign;
  static Registry<Scenario> scenarios(
      "scenario",
      {{"benign", "Benign", Foreign::kNone},
       with_datasets("near", "Near", &ForeignSets::near),
       with_datasets("far", "Far", &ForeignSets::far),
       {"attack", "Attack", Foreign::kAttacker},
       {"noise", "Noise", Foreign::kGenerated, nullptr, uniform_noise},
       blank(),
       inverted(),
       shuffled()});
  return scenarios;
}

}  // namespace

void register_scenario(Scenario scenario) {
  using Foreign = Scenario::Foreign;
  const std::string subject = "scenario " + scenario.name;
  require(scenario.foreign != Foreign::kDataset || scenario.datasets, subject,
          "expected a function that names datasets, got none");
  require(scenario.foreign != Foreign::kGenerated || scenario.generate, subject,
          "expected a function that generates images, got none");
  require(scenario.foreign != Foreign::kDerived || scenario.derive, subject,
          "expected a function that derives images, got none");
  registry().add(std::move(scenario));
}

std::vector<std::string> scenario_names() {
  return registry().names();
}

const Scenario& find_scenario(const std::string& name) {
  return registry().find(name);
}

std::vector<DatasetChoice> foreign_datasets(const std::string& target,
                                            const std::string& scenario) {
  const Scenario& found = find_scenario(scenario);
  if (!found.takes_dataset()) return {};
  auto choices = found.datasets(target);
  require(!choices.empty(), "scenario",
          "no foreign set is known for " + scenario + " beside " + target +
              ", name one");
  return choices;
}

}  // namespace sotta
