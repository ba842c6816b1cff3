#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotta/adapt/guard.h"
#include "sotta/adapt/odin.h"
#include "sotta/attack/attack.h"
#include "sotta/core/options.h"
#include "sotta/record/run_record.h"
#include "sotta/stream/stream_options.h"

namespace sotta {

// What the paper's fifteen corruptions one after another, in one stream, are
// called where a grid or a record names one corruption.
constexpr const char* kCorruptionSequence = "sequence";

// One entry of a benchmark: a method with its options on one stream. Every cell
// is a run of its own: fresh model, fresh method, fresh memory.
struct Cell {
  std::string dataset;
  std::string model;  // weights file
  std::string method;
  std::string variant;  // the row's name, if the method has several
  std::string preset = "clean";
  OptionMap method_changes;  // on top of the preset
  StreamOptions stream;      // scenario, corruption, seed and all the rest
  OdinOptions odin;          // no screen at threshold 0
  GuardOptions guard;
  AttackOptions attack;          // of scenarios with an attacker
  int64_t gradient_samples = 0;  // RunTask::gradient_samples
};

// The cell's corruption as a grid names it; empty if there is none.
std::string corruption_name(const Cell& cell);

// The options that set_cell_option() knows for a cell.
std::vector<std::string> cell_option_names(const Cell& cell, int64_t classes);

// Sets an option of a cell by its name and text: an option of the method, the
// stream, the screen, the guard or the attack. What the grid varies (scenario,
// corruption, seed) cannot be set. Throws Error(kInvalid) naming `subject` for
// unknown names and values of the wrong type.
void set_cell_option(Cell& cell, const std::string& name,
                     const std::string& text, int64_t classes,
                     const std::string& subject);

// What a cell found when it was opened, and its result depends on.
struct CellFacts {
  int64_t classes = 0;
  std::string model_checksum;
  std::string corruption_source;  // "made", "published", empty without one
  std::string foreign;            // the foreign set's name
};

// The record of a cell before it is run: what, and nothing of what came out.
RunRecord describe(const Cell& cell, const CellFacts& facts);

}  // namespace sotta
