#pragma once

#include <cstdint>
#include <vector>

#include "sotta/data/array.h"

namespace sotta {

// CIFAR-10 also goes around as picture sheets: a row of 1,024 RGB pixels is one
// image of 32 x 32, its rows one after the other. This makes the records of the
// published binary file from a decoded sheet, uint8 [3, N, 1024], and its N
// labels: uint8 [N, 3073], each a label and three planes.
//
// Throws Error(kBadFormat) if the sheet has another shape, the counts differ or
// a label is outside 0 .. 9.
Array cifar10_records(const Array& sheet, const std::vector<int64_t>& labels);

}  // namespace sotta
