#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sotta/core/rng.h"
#include "sotta/data/dataset.h"

namespace sotta {

// A split of a dataset of the catalogue.
struct DatasetChoice {
  std::string dataset;
  std::string split;
};

// What a stream holds beside its target images.
struct Scenario {
  // Where foreign images come from.
  enum class Foreign {
    kNone,
    kDataset,    // another dataset, which `datasets` or the user names
    kGenerated,  // `generate` makes them
    kDerived,    // `derive` makes them from the target images
    kAttacker,   // second copies of target images, in the hands of an attacker
  };

  std::string name;   // in options and records
  std::string label;  // in tables; empty: the name
  Foreign foreign = Foreign::kNone;

  // Of kDataset: the sets to take beside this target, the preferred one first;
  // none if the user has to name one.
  std::function<std::vector<DatasetChoice>(const std::string& target)>
      datasets = nullptr;

  // Of kGenerated: images of this shape, each drawn from `rng` and its index
  // alone. Called several times for one stream: they are to be made when they
  // are read.
  std::function<std::shared_ptr<const Dataset>(const Rng& rng,
                                               const ImageShape& shape)>
      generate = nullptr;

  // Of kDerived: as many images, of the same shape, made from the target's,
  // each from its original, `rng` and its index alone.
  std::function<std::shared_ptr<const Dataset>(
      const Rng& rng, std::shared_ptr<const Dataset> target)>
      derive = nullptr;

  // Left out where "all" scenarios are asked for, which are the paper's and
  // those that were registered.
  bool extra = false;

  bool has_foreign() const { return foreign != Foreign::kNone; }
  bool takes_dataset() const { return foreign == Foreign::kDataset; }
  bool is_made() const {
    return foreign == Foreign::kGenerated || foreign == Foreign::kDerived;
  }
  bool has_attacker() const { return foreign == Foreign::kAttacker; }
};

// Adds a scenario to those below. Throws Error(kInvalid) for a name that is
// taken or none, and if the function that `foreign` asks for is missing.
void register_scenario(Scenario scenario);

// Those of the paper, the extra ones, then those that were registered:
//
//   benign  nothing
//   near    images of other objects, photographed alike
//   far     images of another kind altogether
//   attack  a second copy of target images, in the hands of an attacker
//   noise   uniform noise
//
//   blank     images of one colour each: a covered lens, a broken sensor
//   inverted  target images as negatives
//   shuffled  target images cut in 4 x 4 pieces that change places
std::vector<std::string> scenario_names();

// Throws Error(kInvalid) for an unknown name.
const Scenario& find_scenario(const std::string& name);

// The datasets that a scenario takes its foreign images from when the target is
// this dataset, the preferred one first. Empty for one that takes none. Throws
// Error(kInvalid) for an unknown scenario or a dataset without a rule.
std::vector<DatasetChoice> foreign_datasets(const std::string& target,
                                            const std::string& scenario);

}  // namespace sotta
