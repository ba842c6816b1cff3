#include "sotta/stream/scenario.h"

#include <map>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

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

}  // namespace

std::vector<std::string> scenario_names() {
  return {"benign", "near", "far", "attack", "noise"};
}

std::vector<DatasetChoice> foreign_datasets(const std::string& target,
                                            const std::string& scenario) {
  require_one_of("scenario", scenario, scenario_names());
  if (scenario != "near" && scenario != "far") return {};
  const auto rule = rules().find(target);
  require(rule != rules().end(), "scenario",
          "no foreign set is known for " + scenario + " beside " + target +
              ", name one");
  return scenario == "near" ? rule->second.near : rule->second.far;
}

}  // namespace sotta
