#pragma once

#include <string>
#include <vector>

#include "sotta/report/report.h"

namespace sotta {

// Ours minus the paper's at the digits shown, NaN without either: what a reader
// sees as 1.0 is 1.0.
double shown_difference(const TableCell& cell, int digits);

// An average that the paper states too.
struct PaperDistance {
  std::string name;   // "SAR under Near"
  double difference;  // ours minus the paper's, in points
};

// All of a report, the farthest first: those of a scenario, not of single
// corruptions, nor of averages of averages.
std::vector<PaperDistance> paper_distances(const Report& report);

int64_t count_within(const std::vector<PaperDistance>& distances,
                     double points);

// "Of 45 averages that the paper has too, 30 lie within 1.0 point ..., the
// farthest: SAR under Near (+5.1)."; empty if there are none.
std::string distance_text(const std::vector<PaperDistance>& distances);

}  // namespace sotta
