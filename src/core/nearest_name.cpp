#include "core/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace sotta {
namespace {

// Levenshtein's distance, one row at a time.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(const std::string& name,
                         const std::vector<std::string>& known) {
  const auto nearest =
      std::min_element(known.begin(), known.end(),
                       [&](const std::string& a, const std::string& b) {
                         return edit_distance(a, name) < edit_distance(b, name);
                       });
  const bool near = nearest != known.end() &&
                    edit_distance(*nearest, name) <= 1 + name.size() / 3;
  return near ? *nearest : "";
}

}  // namespace sotta
