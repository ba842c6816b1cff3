#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sotta/eval/cell.h"

namespace sotta {

// A row of a table: a method, perhaps with some options changed.
struct GridRow {
  std::string variant;  // empty: the method as its preset has it
  std::string method;   // "all" stands for every method
  std::vector<std::pair<std::string, std::string>> changes;  // option, text
};

// Reads "option=value". Throws Error(kInvalid), naming `subject`, for anything
// else.
std::pair<std::string, std::string> parse_change(const std::string& text,
                                                 const std::string& subject);

// Reads "HC + ESM: sotta memory=confident_fifo frozen=": a name, a method,
// options. A name ends in a colon and a space; without one the options are the
// name. Throws Error(kInvalid) for anything else.
GridRow parse_variant(const std::string& text);

// Reads "sotta min_confidence=0.5,0.9,0.99": one row per value, named
// "min_confidence=0.5" and so on. Further options, with one value each, are the
// same in all rows.
std::vector<GridRow> parse_sweep(const std::string& text);

// A benchmark: every row on every scenario, corruption and seed.
struct Grid {
  std::string dataset;

  // Weights file; every "{seed}" in its name stands for the seed.
  std::string model;

  std::string preset = "clean";
  std::vector<GridRow> rows;
  std::vector<std::string> scenarios;  // "all" stands for every one

  // "all": the paper's fifteen, a cell each; kCorruptionSequence: one after
  // another in one cell, where nothing is reset between them; "none".
  std::vector<std::string> corruptions;
  std::vector<int64_t> seeds = {0};

  // What all cells have in common: the stream's options, of which scenario,
  // corruption and seed are set per cell, and changes to any option, made in
  // the rows that have it. A row's own changes come on top.
  StreamOptions stream;
  std::vector<std::pair<std::string, std::string>> changes;
};

// The cells of a grid: those that share a stream follow one another. Throws
// Error(kInvalid) for unknown names and values, and for anything given twice: a
// row, a scenario, a corruption ("all" and one of them), a seed, an option.
std::vector<Cell> expand(const Grid& grid);

}  // namespace sotta
