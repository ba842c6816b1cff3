#include "eval/side_by_side.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "sotta/eval/run_grid.h"

#include "data/sets/catalog.h"
#include "engine/lane_group.h"

namespace sotta {

bool same_stream(const Cell& a, const Cell& b) {
  return a.stream.scenario == b.stream.scenario &&
         a.stream.corruptions == b.stream.corruptions &&
         a.stream.seed == b.stream.seed;
}

std::vector<Cell> gather_alike(const std::vector<Cell>& cells, int64_t lanes) {
  if (lanes == 1) return cells;
  // Numbers in the order in which names come up first.
  std::map<std::string, int64_t> scenarios, rows;
  const auto number = [](std::map<std::string, int64_t>& names,
                         const std::string& name) {
    return names.emplace(name, static_cast<int64_t>(names.size()))
        .first->second;
  };
  std::map<std::string, int64_t> streams;  // so far, of each scenario
  using Place = std::tuple<int64_t, int64_t, int64_t>;
  std::vector<std::pair<Place, const Cell*>> ordered;
  for (const Cell& cell : cells) {
    const std::string& scenario = cell.stream.scenario;
    if (ordered.empty() || !same_stream(*ordered.back().second, cell))
      ++streams[scenario];
    ordered.push_back(
        {{number(scenarios, scenario), (streams[scenario] - 1) / lanes,
          number(rows, cell.method + '\n' + cell.variant)},
         &cell});
  }
  std::stable_sort(
      ordered.begin(), ordered.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Cell> gathered;
  for (const auto& next : ordered)
    gathered.push_back(*next.second);
  return gathered;
}

SideBySide suitable_for(const std::vector<Cell>& cells, at::Device device,
                        Precision precision, int64_t threads) {
  constexpr int64_t kFewImages = 16, kLanesOfFew = 16, kEnoughForTwo = 16;
  if (device.is_cuda() && precision == Precision::kFloat32) return {};
  auto lanes = static_cast<int64_t>(cells.size());
  for (const Cell& cell : cells) {
    const ImageShape& shape = find_dataset(cell.dataset).shape;
    const int64_t window = cell.stream.window;
    lanes = std::min(lanes, most_lanes(window * shape.height * shape.width));
    if (device.is_cpu())
      lanes =
          std::min(lanes, window < kFewImages ? std::max(threads, kLanesOfFew)
                                              : threads);
  }
  lanes = std::max<int64_t>(lanes, 1);
  return device.is_cuda() && lanes >= kEnoughForTwo ? SideBySide{2, lanes / 2}
                                                    : SideBySide{1, lanes};
}

}  // namespace sotta
