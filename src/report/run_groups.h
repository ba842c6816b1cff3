#pragma once

#include <map>
#include <string>
#include <vector>

#include "sotta/record/run_record.h"
#include "sotta/report/report.h"

namespace sotta {

using RunsBySeed = std::map<int64_t, const RunRecord*>;
using RunsByCorruption = std::map<std::string, RunsBySeed>;

// The runs that stand in one row of a table.
struct RunRow {
  std::string method;
  std::string method_label;
  std::string variant;

  // Settings that were tried out and are not the usual ones, as text:
  // "min_confidence 0.9". The usual value is the one of most of the method's
  // runs; where two values are equally frequent none is usual. A variant that
  // is named by its options, "min_confidence=0.9", counts as a setting.
  std::string setting;

  // Whether the row stands for its method in the tables of methods: it has the
  // usual settings or, where none are usual, any but a named variant's.
  bool is_main = false;

  std::map<std::string, RunsByCorruption> scenarios;

  // Empty if there is none.
  const RunsByCorruption& in(const std::string& scenario) const;

  // All of them, by scenario, corruption and seed.
  std::vector<const RunRecord*> runs() const;

  // "SoTTA", "SoTTA, HC + ESM", "SoTTA (min_confidence 0.9)"
  std::string label() const;

  // The method and, if it is not the usual one, the setting, for a file's name.
  std::string file_label() const;
};

// How names are shown, by name: as their records say.
using Labels = std::map<std::string, std::string>;

// What is comparable: one dataset under one preset.
struct RunGroup {
  std::string dataset;
  std::string preset;
  std::vector<RunRow> rows;            // in the order they are shown
  std::vector<std::string> scenarios;  // likewise
  Labels method_labels, scenario_labels, corruption_labels;
  DefaultOptions defaults = {};  // for the commands of tables

  // "cifar10, preset clean"
  std::string label() const;

  // What tables call them: the label that a record has, or else the paper's.
  std::string method_label(const std::string& method) const;
  std::string scenario_label(const std::string& scenario) const;
  std::string corruption_label(const std::string& corruption) const;

  // Whether streams of this scenario held foreign samples.
  bool has_foreign(const std::string& scenario) const;

  // The corruptions that an average of this scenario is over: those that any
  // row was run with, without what is not among the paper's unless there is
  // nothing else. In the order they are shown.
  std::vector<std::string> averaged(const std::string& scenario) const;

  // All that any row was run with.
  std::vector<std::string> corruptions(const std::string& scenario) const;
};

// The result points into `records`.
std::vector<RunGroup> group_runs(const std::vector<RunRecord>& records);

}  // namespace sotta
