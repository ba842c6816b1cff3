#include "sotta/eval/grid.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/corrupt/corruption.h"
#include "sotta/stream/scenario.h"

#include "data/sets/catalog.h"

namespace sotta {
namespace {

const std::string kAll = "all";
const std::string kNoCorruption = "none";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

// "METHOD option=value ..."
GridRow parse_row(const std::string& text, const std::string& subject) {
  const auto words = words_of(text);
  require(!words.empty() && words[0].find('=') == std::string::npos, subject,
          "expected a method and options, as in \"HC: sotta "
          "memory=confident_fifo\", got \"" +
              text + "\"");
  GridRow row;
  row.method = words[0];
  for (size_t i = 1; i < words.size(); ++i)
    row.changes.push_back(parse_change(words[i], subject));
  return row;
}

// Where the name of a variant ends: at the first colon that ends a word. Within
// a word it belongs to a value, as in foreign=mnist:train.
size_t end_of_name(const std::string& text) {
  const auto within_word = [&](size_t at) {
    return at + 1 < text.size() &&
           std::isspace(static_cast<unsigned char>(text[at + 1])) == 0;
  };
  auto colon = text.find(':');
  while (colon != std::string::npos && within_word(colon))
    colon = text.find(':', colon + 1);
  return colon;
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in, part, ',');)
    parts.push_back(part);
  return parts;
}

template <class T>
void require_no_twins(const std::string& subject, std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const auto twin = std::adjacent_find(values.begin(), values.end());
  if (twin == values.end()) return;
  std::ostringstream text;
  text << "expected each once, " << *twin << " is given twice";
  fail(ErrorKind::kInvalid, subject, text.str());
}

void require_no_twins(
    const std::string& subject,
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> names;
  for (const auto& change : changes)
    names.push_back(change.first);
  require_no_twins(subject, names);
}

// A list of names with "all" replaced, each checked and named once.
std::vector<std::string> resolve(const std::string& subject,
                                 const std::vector<std::string>& names,
                                 const std::vector<std::string>& all,
                                 const std::vector<std::string>& known) {
  std::vector<std::string> resolved;
  for (const auto& name : names)
    for (const auto& one : name == kAll ? all : std::vector{name}) {
      require_one_of(subject, one, known);
      resolved.push_back(one);
    }
  require(!resolved.empty(), subject, "expected at least one");
  require_no_twins(subject, resolved);
  return resolved;
}

std::vector<std::string> resolve_corruptions(const Grid& grid) {
  auto known = corruption_names();
  known.push_back(kNoCorruption);
  known.emplace_back(kCorruptionSequence);
  return resolve("corruption", grid.corruptions, common_corruption_names(),
                 known);
}

std::vector<std::string> all_scenarios() {
  std::vector<std::string> names;
  for (const auto& name : scenario_names())
    if (!find_scenario(name).extra) names.push_back(name);
  return names;
}

// A row of each method that `row` names.
std::vector<GridRow> resolve_methods(const GridRow& row) {
  std::vector<GridRow> rows;
  for (const auto& method :
       resolve("method", {row.method}, method_names(), method_names())) {
    rows.push_back(row);
    rows.back().method = method;
  }
  return rows;
}

std::string model_of_seed(std::string file, int64_t seed) {
  const std::string mark = "{seed}";
  for (auto at = file.find(mark); at != std::string::npos; at = file.find(mark))
    file.replace(at, mark.size(), std::to_string(seed));
  return file;
}

std::string subject_of(const GridRow& row) {
  return row.variant.empty() ? row.method : "variant \"" + row.variant + "\"";
}

Cell row_cell(const Grid& grid, const GridRow& row, int64_t classes) {
  Cell cell;
  cell.dataset = grid.dataset;
  cell.method = row.method;
  cell.variant = row.variant;
  cell.preset = grid.preset;
  cell.stream = grid.stream;
  cell.attack = AttackOptions::preset(parse_preset(grid.preset), classes);
  return cell;
}

bool has_option(const Cell& cell, const std::string& name, int64_t classes) {
  const auto names = cell_option_names(cell, classes);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// No row has the option: another method's, or none's.
[[noreturn]] void fail_unknown_option(const std::vector<Cell>& cells,
                                      const std::string& name,
                                      int64_t classes) {
  Cell other = cells.front();
  for (const auto& method : method_names()) {
    other.method = method;
    if (has_option(other, name, classes))
      fail(ErrorKind::kInvalid, "option",
           name + " belongs to " + method + ", which is not among the rows");
  }
  std::set<std::string> known;
  for (const Cell& cell : cells)
    for (const auto& one : cell_option_names(cell, classes))
      known.insert(one);
  fail_unknown_name("option", name, {known.begin(), known.end()});
}

// Sets an option in every cell that has it; one that none has is a mistake.
void set_in_all(std::vector<Cell>& cells, const std::string& name,
                const std::string& text, int64_t classes) {
  bool found = false;
  for (Cell& cell : cells) {
    if (!has_option(cell, name, classes)) continue;
    set_cell_option(cell, name, text, classes, "option");
    found = true;
  }
  if (!found) fail_unknown_option(cells, name, classes);
}

// The cells of all rows without scenario, corruption and seed.
std::vector<Cell> row_cells(const Grid& grid) {
  const int64_t classes = find_dataset(grid.dataset).classes;
  std::vector<GridRow> rows;
  std::vector<Cell> cells;
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& group : grid.rows)
    for (const auto& row : resolve_methods(group)) {
      require(seen.emplace(row.method, row.variant).second, subject_of(row),
              "is given twice for method " + row.method);
      require_no_twins(subject_of(row), row.changes);
      rows.push_back(row);
      cells.push_back(row_cell(grid, row, classes));
    }
  require(!cells.empty(), "method", "expected at least one");

  require_no_twins("option", grid.changes);
  for (const auto& change : grid.changes)
    set_in_all(cells, change.first, change.second, classes);
  for (size_t i = 0; i < rows.size(); ++i)
    for (const auto& change : rows[i].changes)
      set_cell_option(cells[i], change.first, change.second, classes,
                      subject_of(rows[i]));
  return cells;
}

}  // namespace

std::pair<std::string, std::string> parse_change(const std::string& word,
                                                 const std::string& subject) {
  const auto equals = word.find('=');
  require(equals != std::string::npos && equals > 0, subject,
          "expected option=value, got \"" + word + "\"");
  return {word.substr(0, equals), word.substr(equals + 1)};
}

GridRow parse_variant(const std::string& text) {
  const auto colon = end_of_name(text);
  if (colon != std::string::npos) {
    GridRow row = parse_row(text.substr(colon + 1), "variant \"" + text + "\"");
    row.variant = text.substr(0, colon);
    return row;
  }
  GridRow row = parse_row(text, "variant \"" + text + "\"");
  for (const auto& [name, value] : row.changes)
    row.variant += (row.variant.empty() ? "" : " ") + name + "=" + value;
  return row;
}

std::vector<GridRow> parse_sweep(const std::string& text) {
  const std::string subject = "sweep \"" + text + "\"";
  const GridRow row = parse_row(text, subject);
  const auto several = [](const auto& change) {
    return change.second.find(',') != std::string::npos;
  };
  const auto swept =
      std::find_if(row.changes.begin(), row.changes.end(), several);
  require(swept != row.changes.end(), subject,
          "expected an option with several values, as in "
          "\"sotta min_confidence=0.5,0.9\"");
  require(std::count_if(row.changes.begin(), row.changes.end(), several) == 1,
          subject, "expected one option with several values, got more");

  std::vector<GridRow> rows;
  for (const auto& value : split(swept->second)) {
    GridRow one = row;
    one.changes[static_cast<size_t>(swept - row.changes.begin())].second =
        value;
    one.variant = swept->first + "=" + value;
    rows.push_back(one);
  }
  return rows;
}

std::vector<Cell> expand(const Grid& grid) {
  const auto rows = row_cells(grid);
  const auto scenarios =
      resolve("scenario", grid.scenarios, all_scenarios(), scenario_names());
  const auto corruptions = resolve_corruptions(grid);
  require(!grid.seeds.empty(), "seeds", "expected at least one");
  require_no_twins("seeds", grid.seeds);
  check_severity(grid.stream.severity);

  std::vector<Cell> cells;
  for (const auto& corruption : corruptions)
    for (const int64_t seed : grid.seeds)
      for (const auto& scenario : scenarios)
        for (Cell cell : rows) {
          cell.model = model_of_seed(grid.model, seed);
          cell.stream.seed = seed;
          cell.stream.scenario = scenario;
          cell.stream.corruptions = corruption == kNoCorruption ? ""
                                    : corruption == kCorruptionSequence
                                        ? kAll
                                        : corruption;
          // One set for all scenarios that take one.
          if (!find_scenario(scenario).takes_dataset())
            cell.stream.foreign.clear();
          validate(cell.stream);
          cells.push_back(cell);
        }
  return cells;
}

}  // namespace sotta
