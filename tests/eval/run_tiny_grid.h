#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sotta/eval/run_grid.h"

#include "record/run_identity.h"
#include "tests/eval/tiny_bench.h"

namespace sotta::testing {

inline GridOutcome run_tiny_grid(const TinyBench& tiny,
                                 const std::filesystem::path& folder,
                                 const std::vector<Cell>& cells, int64_t jobs,
                                 int64_t lanes,
                                 const GridCallback& progress = {}) {
  WorkbenchOptions options;
  options.data_root = tiny.root();
  options.jobs = jobs;
  options.lanes = lanes;
  Workbench bench(options);
  RecordFolder records(folder, "");
  const auto claims = make_local_claims();
  return run_grid(cells, jobs, bench, records, *claims, progress);
}

// By identity, without times.
inline std::map<std::string, std::string> results_in(
    const std::filesystem::path& folder) {
  std::map<std::string, std::string> results;
  for (const auto& record : read_record_folder(folder))
    results[run_identity(record)] = to_json(timeless(record));
  return results;
}

}  // namespace sotta::testing
