#pragma once

#include <string>

#include <c10/core/Device.h>

#include "data/torch/exported_program.h"
#include "models/graph_classifier.h"

namespace sotta {

// An exported network as a pure function.
struct ExportedNetwork : GraphNetwork {
  GraphRun run;
};

// Makes a network's nodes ready to run on a device, where its tensors are
// copied to. Nodes that the logits do not need are left out. Norm layers are
// found in the form that the network called them in, and in the core set of
// operators that run_decompositions() leaves.
//
// Throws Error(kUnsupported) naming `subject` and what does not fit; of
// operators that LibTorch lacks, all.
ExportedNetwork lift_exported(const ExportedProgram& program,
                              c10::Device device, const std::string& subject);

}  // namespace sotta
