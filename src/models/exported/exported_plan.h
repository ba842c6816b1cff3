#pragma once

#include <optional>
#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include "models/exported/exported_operator.h"

namespace sotta {

// A norm layer's vectors among the values of the graph.
struct NormPlaces {
  size_t scale, shift;
  std::optional<size_t> running_mean, running_var;  // of batch norm
};

// One node: a call, or batch norm, whose statistics are given.
struct ExportedStep {
  std::optional<ExportedCall> call;
  size_t norm = 0, input = 0, output = 0;  // of batch norm
  double epsilon = 0;
  std::vector<size_t> last_used;  // values that no later step needs
};

// All that a pass through an exported network needs, ready to run. Several may
// run at once.
struct ExportedPlan {
  std::vector<c10::IValue>
      constants;  // all values of the graph; undefined where none is known
  std::vector<size_t> written;  // inputs to be copied before they are changed
  size_t images = 0;
  std::vector<size_t> body;
  std::vector<NormPlaces> norms;
  std::vector<ExportedStep> steps;
  size_t output = 0;
  std::optional<size_t> features;
};

// Does what a GraphRun does (graph_classifier.h).
void run_plan(const ExportedPlan& plan, torch::jit::Stack& stack);

}  // namespace sotta
