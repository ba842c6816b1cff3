#pragma once

#include <cstdint>
#include <vector>

#include "sotta/eval/cell.h"

namespace sotta {

// Whether both cells see the same images in the same order.
bool same_stream(const Cell& a, const Cell& b);

// The cells in an order in which lanes do the same work for equally long: by
// scenario (an attacker takes many times the work of the others), of each as
// many streams as there are lanes, method by method. With one lane as they are.
std::vector<Cell> gather_alike(const std::vector<Cell>& cells, int64_t lanes);

}  // namespace sotta
