#pragma once

#include "sotta/report/report.h"

namespace sotta::testing {

// A report with every kind of cell and with names that are markup in one format
// or another.
inline Report small_report() {
  TableCell best;
  best.value = 82.26;
  best.std = 0.21;
  best.worst = 82.05;
  best.seeds = 3;
  best.paper = 82.2;
  best.best = true;
  TableCell partial;
  partial.value = 70;
  partial.seeds = 1;
  partial.partial = true;
  partial.covered = 3;
  partial.expected = 15;
  TableCell text;
  text.text = "a|b, \"c\"";
  Table table;
  table.name = "set/clean/x";
  table.title = "Accuracy (%)";
  table.row_header = "Method";
  table.columns = {{"A & B"}, {"<C>"}};
  table.rows = {{"my_method", {best, TableCell()}}, {"50%", {partial, text}}};
  table.notes = {"3 seeds."};
  const Figure figure = {"set-clean-y", "A & B", "How it went.",
                         "<svg class=\"figure\"></svg>"};
  return {"Results", {"Two runs."}, {{"odd_set", {}, {table}, {figure}}}};
}

}  // namespace sotta::testing
