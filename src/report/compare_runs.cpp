#include "report/compare_runs.h"

#include <algorithm>
#include <cmath>

#include "report/names.h"
#include "report/tables/average.h"
#include "report/tables/change.h"
#include "report/tables/number_text.h"

namespace sotta {
namespace {

// A row under a scenario, on both sides; the other side's is null if it has no
// such runs.
struct Place {
  const RunRow* now = nullptr;
  const RunRow* before = nullptr;
  std::string scenario;
};

// By what it is called in the tables.
using Places = std::map<std::string, Place>;

void collect(const std::vector<RunGroup>& groups, const RunRow* Place::*side,
             Places& places) {
  for (const RunGroup& group : groups)
    for (const RunRow& row : group.rows)
      for (const auto& entry : row.scenarios) {
        Place& place = places[group.label() + ": " + row.label() + " under " +
                              group.scenario_label(entry.first)];
        place.*side = &row;
        place.scenario = entry.first;
      }
}

struct Finding {
  std::string name;
  Change change;
};

using Findings = std::vector<Finding>;

bool has_changed(const Change& change) {
  return change.kind == ChangeKind::kHigher ||
         change.kind == ChangeKind::kLower;
}

// What changed comes first, then noise; each by size.
void sort_by_weight(Findings& findings) {
  const auto weight = [](const Change& change) {
    return std::make_pair(has_changed(change) ? 0 : 1,
                          -std::abs(change.difference));
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) {
                     return weight(a.change) < weight(b.change);
                   });
}

std::vector<std::string> shared_corruptions(const Place& place) {
  std::set<std::string> names;
  for (const auto& entry : place.now->in(place.scenario))
    if (place.before->in(place.scenario).count(entry.first) > 0)
      names.insert(entry.first);
  return sort_corruptions(names);
}

// The squared standard error that the number of images gives an average of
// percentages: binomial, with one more right and one more wrong, so that none
// is certain.
double image_variance(const RunsByCorruption& runs,
                      const std::vector<std::string>& corruptions,
                      const std::map<int64_t, double>& by_seed) {
  double sum = 0;
  for (const auto& corruption : corruptions)
    for (const auto& entry : by_seed) {
      const RunRecord& run = *runs.at(corruption).at(entry.first);
      const double images = static_cast<double>(run.samples) + 2;
      const double share = (static_cast<double>(run.correct) + 1) / images;
      sum += 1e4 * share * (1 - share) / images;
    }
  const auto parts = static_cast<double>(corruptions.size() * by_seed.size());
  return sum / (parts * parts);
}

void add_finding(const std::string& name, const Place& place,
                 const std::vector<std::string>& corruptions,
                 Findings& findings) {
  const auto now =
      seed_averages(*place.now, place.scenario, corruptions, accuracy);
  const auto before =
      seed_averages(*place.before, place.scenario, corruptions, accuracy);
  if (now.empty() || before.empty()) return;
  const double variance =
      image_variance(place.now->in(place.scenario), corruptions, now) +
      image_variance(place.before->in(place.scenario), corruptions, before);
  findings.push_back({name, compare_seeds(now, before, std::sqrt(variance))});
}

TableCell number(double value, int64_t seeds = 0) {
  TableCell cell;
  cell.value = value;
  cell.seeds = seeds;
  return cell;
}

TableCell words(const std::string& text) {
  TableCell cell;
  cell.text = text;
  return cell;
}

std::string verdict(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kSame:
      return "the same";
    case ChangeKind::kWithinNoise:
      return "within noise";
    case ChangeKind::kHigher:
      return "higher";
    case ChangeKind::kLower:
      return "lower";
  }
  return "";
}

std::string interval_text(const Change& change) {
  const char* basis = change.basis == ChangeBasis::kPairedSeeds ? ""
                      : change.basis == ChangeBasis::kSeeds     ? " (unpaired)"
                                                                : " (images)";
  return signed_fixed(change.low, 2) + " to " + signed_fixed(change.high, 2) +
         basis;
}

TableRow finding_row(const Finding& finding) {
  const Change& change = finding.change;
  TableCell difference = words(signed_fixed(change.difference, 2));
  difference.value = change.difference;
  return {finding.name,
          {number(change.before, change.before_seeds),
           number(change.now, change.now_seeds), difference,
           words(interval_text(change)), words(verdict(change.kind))}};
}

// Many comparisons find some change by chance; so it is said how many.
std::string chance_text(const Findings& findings) {
  double tested = 0;
  int64_t changed = 0;
  for (const Finding& finding : findings) {
    changed += has_changed(finding.change);
    if (finding.change.kind != ChangeKind::kSame) ++tested;
  }
  return counted(static_cast<int64_t>(findings.size()), "comparison") +
         "; chance alone would call about " + fixed(0.05 * tested, 0) +
         " of them a change, " + std::to_string(changed) + " were called so.";
}

Table empty_table(const std::string& name, const std::string& title) {
  Table table;
  table.name = "against/" + name;
  table.title = title;
  table.row_header = "Runs";
  return table;
}

// What is the same needs no row, nor does noise where there is much of it.
void fill(Table& table, const Findings& findings, const SideNames& sides,
          bool with_noise) {
  table.columns = {{sides.other, Better::kNeither, 2},
                   {sides.these, Better::kNeither, 2},
                   {"Difference", Better::kNeither, 2},
                   {"95 % interval", Better::kNeither},
                   {"Verdict", Better::kNeither}};
  int64_t same = 0;
  int64_t noise = 0;
  for (const Finding& finding : findings) {
    const ChangeKind kind = finding.change.kind;
    same += kind == ChangeKind::kSame;
    noise += kind == ChangeKind::kWithinNoise;
    if (kind == ChangeKind::kSame) continue;
    if (kind == ChangeKind::kWithinNoise && !with_noise) continue;
    table.rows.push_back(finding_row(finding));
  }
  std::string note = chance_text(findings) +
                     " Not shown: " + std::to_string(same) +
                     " that are the same to the last digit";
  if (!with_noise) note += ", " + std::to_string(noise) + " within noise";
  table.notes = {note + "."};
}

int64_t count_runs(const RunRow* row, const std::string& scenario) {
  int64_t count = 0;
  if (row == nullptr) return count;
  for (const auto& entry : row->in(scenario))
    count += static_cast<int64_t>(entry.second.size());
  return count;
}

// Runs of this side that the other lacks.
int64_t count_alone(const RunRow* row, const RunRow* other,
                    const std::string& scenario) {
  if (row == nullptr || other == nullptr) return count_runs(row, scenario);
  int64_t count = 0;
  const auto& others = other->in(scenario);
  for (const auto& [corruption, seeds] : row->in(scenario)) {
    const auto found = others.find(corruption);
    for (const auto& entry : seeds)
      if (found == others.end() || found->second.count(entry.first) == 0)
        ++count;
  }
  return count;
}

Table alone_table(const Places& places, const SideNames& sides) {
  Table table = empty_table("one-sided", "Runs that only one side has");
  table.columns = {{sides.only_other, Better::kNeither},
                   {sides.only_these, Better::kNeither}};
  for (const auto& [name, place] : places) {
    const int64_t now = count_alone(place.now, place.before, place.scenario);
    const int64_t before = count_alone(place.before, place.now, place.scenario);
    if (now + before > 0)
      table.rows.push_back(
          {name, {words(std::to_string(before)), words(std::to_string(now))}});
  }
  return table;
}

int64_t count_changed(const Findings& findings) {
  return std::count_if(
      findings.begin(), findings.end(),
      [](const Finding& finding) { return has_changed(finding.change); });
}

std::string summary(const Findings& findings) {
  int64_t of_images = 0;
  for (const Finding& finding : findings)
    of_images += finding.change.basis == ChangeBasis::kImages;
  return "Of " + counted(static_cast<int64_t>(findings.size()), "average") +
         " that both sides have, " + std::to_string(count_changed(findings)) +
         " changed beyond noise; for " + std::to_string(of_images) +
         " a side has one seed, and noise is that of the number of images.";
}

constexpr const char* kRule =
    "Difference: these runs minus the others, over the corruptions that both "
    "have. Where both have the same two or more seeds, these are compared one "
    "by one (Student's interval of the paired differences); otherwise, with "
    "two "
    "or more seeds on each side, Welch's interval is taken. Something changed "
    "if the 95 % interval does not hold 0: one comparison in twenty will say "
    "so "
    "by chance. Where a side has one seed, the interval is that of the number "
    "of images (binomial): runs of the same images differ by less, and methods "
    "that break on foreign images by more, for rounding decides where.";

}  // namespace

Comparison compare_runs(const std::vector<RunRecord>& records,
                        const std::vector<RunRecord>& others) {
  return compare_runs(records, others, {});
}

Comparison compare_runs(const std::vector<RunRecord>& records,
                        const std::vector<RunRecord>& others,
                        const SideNames& sides) {
  const auto groups = group_runs(records);
  const auto other_groups = group_runs(others);
  Places places;
  collect(groups, &Place::now, places);
  collect(other_groups, &Place::before, places);

  Findings averages;
  Findings corruptions;
  for (const auto& [name, place] : places) {
    if (place.now == nullptr || place.before == nullptr) continue;
    const auto shared = shared_corruptions(place);
    if (shared.empty()) continue;
    add_finding(name, place, shared, averages);
    for (const auto& corruption : shared)
      if (shared.size() > 1)
        add_finding(name + ", " + corruption_words(corruption), place,
                    {corruption}, corruptions);
  }
  sort_by_weight(averages);
  sort_by_weight(corruptions);

  Comparison comparison;
  comparison.shared =
      static_cast<int64_t>(averages.size() + corruptions.size());
  comparison.changed = count_changed(averages);
  Section& section = comparison.section;
  section.title = "What changed";
  section.paragraphs = {summary(averages), kRule};
  section.tables = {empty_table("averages", "Accuracy (%): averages")};
  fill(section.tables.back(), averages, sides, /*with_noise=*/true);
  if (!corruptions.empty()) {
    section.tables.push_back(
        empty_table("corruptions", "Accuracy (%): single corruptions"));
    fill(section.tables.back(), corruptions, sides, /*with_noise=*/false);
  }
  Table alone = alone_table(places, sides);
  if (!alone.rows.empty()) section.tables.push_back(std::move(alone));
  return comparison;
}

}  // namespace sotta
