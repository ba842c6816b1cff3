#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotta/corrupt/corruption.h"
#include "sotta/data/array.h"
#include "sotta/data/dataset.h"

namespace sotta {

struct ContactSheet {
  std::vector<std::string> kinds;   // one row each, below the clean images
  std::vector<int64_t> severities;  // side by side, for each image
  int64_t images = 1;               // the first ones of the dataset
  CorruptionOptions options;        // seed and frost photographs
};

// One picture to look at, uint8 RGB [3, H, W]: a row per kind, a column per
// severity and image; small images are enlarged. Throws as Corruption does.
Array make_contact_sheet(const Dataset& clean, const ContactSheet& sheet);

}  // namespace sotta
