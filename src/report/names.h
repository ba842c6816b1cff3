#pragma once

#include <set>
#include <string>
#include <vector>

namespace sotta {

// The paper's labels and order. Records carry the labels of their names; these
// are for records of before they did, and for what the paper says itself. What
// the paper does not know comes last, by alphabet, and is its own label. A
// table asks its RunGroup.
std::string method_label(const std::string& method);
std::string scenario_label(const std::string& scenario);
std::string corruption_label(const std::string& corruption);

// Within a sentence: "fog", "uncorrupted images".
std::string corruption_words(const std::string& corruption);

// Which colour and dash a method has in every figure (line_chart.h).
int method_style(const std::string& method);
std::string option_label(const std::string& option);  // with its symbol

std::vector<std::string> sort_methods(std::set<std::string> names);
std::vector<std::string> sort_scenarios(std::set<std::string> names);
std::vector<std::string> sort_corruptions(std::set<std::string> names);
std::vector<std::string> sort_datasets(std::set<std::string> names);

// The fifteen that the paper averages over.
const std::vector<std::string>& paper_corruptions();

}  // namespace sotta
