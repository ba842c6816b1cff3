#pragma once

#include <string>
#include <vector>

#include "sotta/record/run_record.h"
#include "sotta/report/report.h"

namespace sotta {

// Runs that are published together, and what there is to say of them.
struct Study {
  std::string name;  // of its folder
  std::string title;
  std::vector<std::string> about;     // paragraphs
  std::vector<std::string> commands;  // that made the records
  std::string machine;                // and how long it took; may be empty
  std::vector<RunRecord> records;
};

// The report of a study: make_report() below what there is to say, and how far
// it is from the paper.
Report make_study_report(const Study& study,
                         const DefaultOptions& defaults = {});

// A page that leads to the studies, with the tables of averages of each. The
// studies' reports lie in folders beside it that are called by their names.
Report make_index(const std::vector<Study>& studies,
                  const DefaultOptions& defaults = {});

}  // namespace sotta
