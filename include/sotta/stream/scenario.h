#pragma once

#include <string>
#include <vector>

namespace sotta {

// What a stream holds beside its target images, named as in the paper:
//
//   benign  nothing
//   near    images of other objects, photographed alike
//   far     images of another kind altogether
//   attack  a second copy of target images, in the hands of an attacker
//   noise   uniform noise
std::vector<std::string> scenario_names();

// A split of a dataset of the catalogue.
struct DatasetChoice {
  std::string dataset;
  std::string split;
};

// The datasets that near or far takes its foreign images from when the target
// is this dataset, the preferred one first. Empty for the other scenarios.
// Throws Error(kInvalid) for an unknown scenario or a dataset without a rule.
std::vector<DatasetChoice> foreign_datasets(const std::string& target,
                                            const std::string& scenario);

}  // namespace sotta
