#pragma once

#include <string>

#include "sotta/record/run_record.h"

namespace sotta {

// What a run is about.
struct RunNames {
  std::string verb;  // the command
  std::string dataset;
  std::string method = RunRecord::kSource;
  std::string scenario = {};    // empty without a stream
  std::string corruption = {};  // empty without one, or several
};

// The record of a run that begins: these names, the labels they are shown with,
// and the versions of the program and of LibTorch. Every record begins here.
// Throws Error(kInvalid) for an unknown method or scenario.
RunRecord begin_record(const RunNames& names);

}  // namespace sotta
