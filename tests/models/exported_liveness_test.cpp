#include "models/exported/exported_liveness.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

using Kind = ExportedItem::Kind;

// Two inputs: 0 the images, 1 a buffer.
class Graph {
 public:
  Graph() { graph_.inputs.resize(2); }

  // A node of one argument "self"; returns its result.
  size_t add(const std::string& operation, size_t self) {
    ExportedNode node;
    node.target = "torch.ops.aten." + operation;
    node.arguments = {{"self", false, {{Kind::kValue, self, 0, 0, {}}}}};
    node.results = {{false, {next_}}};
    graph_.nodes.push_back(node);
    return next_++;
  }

  ExportedLiveness liveness(size_t output) {
    graph_.values = next_;
    graph_.output = output;
    std::vector<std::optional<ExportedOperator>> operators;
    for (const ExportedNode& node : graph_.nodes)
      operators.push_back(find_operator(node.target));
    return find_liveness(graph_, operators);
  }

 private:
  ExportedGraph graph_;
  size_t next_ = 2;
};

TEST(ExportedLivenesses, WhatTheOutputDoesNotNeedIsDead) {
  Graph graph;
  const size_t relu = graph.add("relu.default", 0);
  graph.add("sigmoid.default", relu);
  graph.add("nothing.of_the_kind", relu);
  const auto found = graph.liveness(relu);
  EXPECT_EQ(found.nodes, (std::vector<bool>{true, false, false}));
  EXPECT_TRUE(found.written.empty());
}

TEST(ExportedLivenesses, WritingToWhatIsUsedIsAlive) {
  Graph graph;
  const size_t relu = graph.add("relu.default", 0);
  const size_t view = graph.add("t.default", relu);
  graph.add("sigmoid_.default", view);
  EXPECT_EQ(graph.liveness(relu).nodes, (std::vector<bool>{true, true, true}));
}

TEST(ExportedLivenesses, WritingToWhatNobodyReadsIsDead) {
  Graph graph;
  const size_t relu = graph.add("relu.default", 0);
  graph.add("zero_.default", 1);
  const auto found = graph.liveness(relu);
  EXPECT_EQ(found.nodes, (std::vector<bool>{true, false}));
  EXPECT_TRUE(found.written.empty());
}

TEST(ExportedLivenesses, InputsThatAreWrittenToAreKnown) {
  Graph graph;
  const size_t relu = graph.add("relu_.default", graph.add("t.default", 0));
  EXPECT_EQ(graph.liveness(relu).written, std::vector<size_t>{0});
}

}  // namespace
}  // namespace sotta
