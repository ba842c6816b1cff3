#include "sotta/report/table.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TableCell number(double value) {
  TableCell cell;
  cell.value = value;
  cell.seeds = 1;
  return cell;
}

Table column_of(const std::vector<TableCell>& cells,
                Better better = Better::kHigher) {
  Table table;
  table.columns = {{"c", better}};
  for (const TableCell& cell : cells)
    table.rows.push_back({"r", {cell}});
  mark_best(table);
  return table;
}

bool best(const Table& table, size_t row) {
  return table.rows[row].cells[0].best;
}

TEST(Table, BestIsTheHighestOrTheLowest) {
  const Table high = column_of({number(1), number(3), number(2)});
  EXPECT_TRUE(!best(high, 0) && best(high, 1) && !best(high, 2));
  const Table low = column_of({number(1), number(3)}, Better::kLower);
  EXPECT_TRUE(best(low, 0) && !best(low, 1));
  const Table none = column_of({number(1), number(3)}, Better::kNeither);
  EXPECT_TRUE(!best(none, 0) && !best(none, 1));
}

TEST(Table, NumbersThatLookTheSameShareTheBest) {
  const Table table = column_of({number(81.04), number(80.96), number(80.9)});
  EXPECT_TRUE(best(table, 0) && best(table, 1) && !best(table, 2));
}

TEST(Table, PartialAndMissingDoNotCompeteAndNobodyWinsAlone) {
  TableCell partial = number(99);
  partial.partial = true;
  const Table table = column_of({partial, number(1), TableCell(), number(2)});
  EXPECT_TRUE(!best(table, 0) && !best(table, 2) && best(table, 3));
  EXPECT_FALSE(best(column_of({number(5), partial, TableCell()}), 0));
}

TEST(Table, TextsOfACell) {
  TableCell cell = number(82.26);
  cell.std = 0.21;
  cell.worst = 82.1;
  cell.seeds = 3;
  cell.paper = 82.2;
  Table table = column_of({cell, number(7)});
  EXPECT_EQ(cell_text(table, cell, 0), "82.3 ± 0.2");
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kSpread), "");
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kWorst), "worst 82.1");
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kSeeds), "");
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kPaper),
            "paper 82.2 (+0.1)");
  EXPECT_EQ(cell_detail(table, number(7), 0, CellDetail::kSeeds), "1 seed");
  table.wide = true;
  EXPECT_EQ(cell_text(table, cell, 0), "82.3");
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kSpread), "± 0.2");
}

TEST(Table, MissingIsADashAndPartialIsMarked) {
  TableCell partial = number(80);
  partial.partial = true;
  partial.covered = 3;
  partial.expected = 15;
  const Table table = column_of({partial, TableCell()});
  EXPECT_EQ(cell_text(table, TableCell(), 0), "—");
  EXPECT_EQ(cell_text(table, partial, 0), "80.0*");
  EXPECT_EQ(cell_detail(table, partial, 0, CellDetail::kCovered), "3 of 15");
}

TEST(Table, LegendExplainsOnlyWhatIsThere) {
  EXPECT_EQ(legend_notes(column_of({number(1)})),
            std::vector<std::string>{
                "One seed: the spread over seeds is not known."});
  const auto notes =
      legend_notes(column_of({number(1), TableCell(), number(2)}));
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[1], "Bold: the best of its column.");
  EXPECT_EQ(notes[2], "—: not run, or not measured.");
}

TEST(Table, TheWorstSeedNeedsTwo) {
  TableCell cell = number(80);
  cell.worst = 79;
  const Table table = column_of({cell, number(7)});
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kWorst), "");
  cell.seeds = 2;
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kWorst), "worst 79.0");
}

TEST(Table, SeedsAreNamedWhereOthersHaveMore) {
  TableCell three = number(80), partial = number(70);
  three.seeds = 3;
  partial.partial = true;
  const Table table = column_of({number(81), three, partial});
  EXPECT_EQ(table.seeds(), 3);
  EXPECT_EQ(cell_detail(table, three, 0, CellDetail::kSeeds), "");
  EXPECT_EQ(cell_detail(table, partial, 0, CellDetail::kSeeds), "");
  EXPECT_EQ(cell_detail(table, number(81), 0, CellDetail::kSeeds), "1 seed");
  three.seeds = 2;
  EXPECT_EQ(cell_detail(table, three, 0, CellDetail::kSeeds), "2 seeds");
}

TEST(Table, EveryNoteOfTheLegendHasItsReason) {
  const auto notes = [](const TableCell& cell) {
    return legend_notes(column_of({cell}));
  };
  TableCell cell = number(1);
  cell.seeds = 2;
  EXPECT_TRUE(notes(cell).empty());
  cell.std = 0;
  EXPECT_EQ(notes(cell).size(), 1u);
  cell.paper = 3;
  EXPECT_EQ(notes(cell).size(), 2u);
  cell.partial = true;
  EXPECT_EQ(notes(cell).size(), 3u);
  EXPECT_TRUE(legend_notes(Table()).empty());
}

TEST(Table, DigitsAreThoseOfTheColumn) {
  Table table = column_of({number(81.04), number(80.96)});
  table.columns[0].digits = 2;
  mark_best(table);
  EXPECT_TRUE(best(table, 0) && !best(table, 1));
  TableCell cell = number(81.045);
  cell.std = 0.5;
  cell.paper = 82;
  EXPECT_EQ(cell_text(table, cell, 0), "81.05 ± 0.50");
  EXPECT_EQ(cell_detail(table, cell, 0, CellDetail::kPaper),
            "paper 82.00 (−0.95)");
  TableCell words;
  words.text = "none";
  EXPECT_EQ(cell_text(table, words, 0), "none");
  EXPECT_EQ(cell_detail(table, words, 0, CellDetail::kPaper), "");
}

}  // namespace
}  // namespace sotta
