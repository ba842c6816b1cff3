#include "models/exported/exported_liveness.h"

#include <numeric>
#include <utility>

#include <ATen/core/alias_info.h>

namespace sotta {
namespace {

// Values that may share memory, as sets that are merged (union-find).
class MemorySets {
 public:
  explicit MemorySets(size_t values) : parents_(values) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
  }

  size_t of(size_t value) {
    while (parents_[value] != value) {
      parents_[value] = parents_[parents_[value]];
      value = parents_[value];
    }
    return value;
  }

  void merge(size_t a, size_t b) { parents_[of(a)] = of(b); }

 private:
  std::vector<size_t> parents_;
};

bool share_memory(const c10::Argument& argument, const c10::Argument& result) {
  if (!argument.alias_info() || !result.alias_info()) return false;
  for (const auto& set : argument.alias_info()->beforeSets())
    if (result.alias_info()->beforeSets().count(set) > 0) return true;
  return false;
}

// The argument of a node that belongs to one of the schema.
const ExportedArgument* given(const ExportedNode& node,
                              const c10::Argument& wanted) {
  for (const ExportedArgument& argument : node.arguments)
    if (argument.name == wanted.name()) return &argument;
  return nullptr;
}

template <class Visit>
void each_value(const ExportedArgument& argument, Visit visit) {
  for (const ExportedItem& item : argument.items)
    if (item.kind == ExportedItem::Kind::kValue) visit(item.value);
}

class Liveness {
 public:
  Liveness(const ExportedGraph& graph,
           const std::vector<std::optional<ExportedOperator>>& operators)
      : graph_(graph), sets_(graph.values), makers_(graph.values) {
    result_.nodes.assign(graph.nodes.size(), false);
    writes_.resize(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (operators[i]) merge_shared(i, operators[i]->schema);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ExportedResult& result : graph.nodes[i].results)
        for (const size_t value : result.values)
          makers_[sets_.of(value)].push_back(i);
      for (const size_t value : writes_[i])
        makers_[sets_.of(value)].push_back(i);
    }
  }

  ExportedLiveness find() {
    reach(graph_.output);
    while (!open_.empty()) {
      const size_t node = open_.back();
      open_.pop_back();
      for (const ExportedArgument& argument : graph_.nodes[node].arguments)
        each_value(argument, [&](size_t value) { reach(value); });
    }
    find_written();
    return std::move(result_);
  }

 private:
  void merge_shared(size_t number, const c10::FunctionSchema& schema) {
    const ExportedNode& node = graph_.nodes[number];
    for (const c10::Argument& wanted : schema.arguments()) {
      const ExportedArgument* argument = given(node, wanted);
      if (argument == nullptr || !wanted.alias_info()) continue;
      if (wanted.alias_info()->isWrite())
        each_value(*argument,
                   [&](size_t value) { writes_[number].push_back(value); });
      for (size_t i = 0; i < node.results.size() && i < schema.returns().size();
           ++i)
        if (share_memory(wanted, schema.returns()[i]))
          for (const size_t result : node.results[i].values)
            each_value(*argument,
                       [&](size_t value) { sets_.merge(value, result); });
    }
  }

  // Whatever makes or writes to the memory of this value is to be run.
  void reach(size_t value) {
    auto& makers = makers_[sets_.of(value)];
    for (const size_t node : makers)
      if (!result_.nodes[node]) {
        result_.nodes[node] = true;
        open_.push_back(node);
      }
    makers.clear();
  }

  void find_written() {
    std::vector<bool> is_written(graph_.values, false);
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (result_.nodes[i])
        for (const size_t value : writes_[i])
          is_written[sets_.of(value)] = true;
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      if (is_written[sets_.of(i)]) result_.written.push_back(i);
  }

  const ExportedGraph& graph_;
  MemorySets sets_;
  std::vector<std::vector<size_t>> makers_;  // nodes, by set
  std::vector<std::vector<size_t>> writes_;  // values, by node
  std::vector<size_t> open_;  // nodes whose arguments are not seen
  ExportedLiveness result_;
};

}  // namespace

ExportedLiveness find_liveness(
    const ExportedGraph& graph,
    const std::vector<std::optional<ExportedOperator>>& operators) {
  return Liveness(graph, operators).find();
}

}  // namespace sotta
