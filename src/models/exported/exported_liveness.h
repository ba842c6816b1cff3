#pragma once

#include <optional>
#include <vector>

#include "data/torch/exported_program.h"
#include "models/exported/exported_operator.h"

namespace sotta {

// What of a graph matters for its output.
struct ExportedLiveness {
  std::vector<bool> nodes;      // whether it is to be run
  std::vector<size_t> written;  // inputs that nodes to be run write to
};

// `operators` are those of the nodes, none where there is no such operator.
// Operators that write to an argument matter if the argument does, or what
// shares its memory as far as schemas tell; training counts batches like that,
// and the count does not matter.
ExportedLiveness find_liveness(
    const ExportedGraph& graph,
    const std::vector<std::optional<ExportedOperator>>& operators);

}  // namespace sotta
