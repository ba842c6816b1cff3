#pragma once

#include <string>
#include <vector>

namespace sotta {

// What the paper states, under the names of records; NaN where it states
// nothing. All are percent correct at severity 5.

// Of one corruption. Only the CIFAR10-C table is printed in such detail.
double paper_accuracy(const std::string& dataset, const std::string& scenario,
                      const std::string& method, const std::string& corruption);

// The average over these corruptions: the printed one if they are all fifteen,
// else that of the printed cells.
double paper_average(const std::string& dataset, const std::string& scenario,
                     const std::string& method,
                     const std::vector<std::string>& corruptions);

// Of a row of the ablation tables or, for a variant that names ODIN, of the
// ODIN table; over all fifteen corruptions.
double paper_variant(const std::string& dataset, const std::string& scenario,
                     const std::string& method, const std::string& variant);

// The rows of the paper's ablation tables in their order.
std::vector<std::string> paper_variants();

// Sentences on averages that are printed and are not those of their cells.
std::vector<std::string> paper_slips(const std::string& dataset);

// The tables as they are carried in the program.
const char* paper_tables_json();

}  // namespace sotta
