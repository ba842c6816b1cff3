#include "models/torchscript_graph.h"

#include <stdexcept>

#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/serialization/import.h>

#include "tests/support/golden_dir.h"

namespace sotta {
namespace {

TEST(TorchScriptGraph, BecomesAPureFunction) {
  const auto module = torch::jit::load(std::string(testing::golden_dir()) +
                                       "/torchscript/scripted.pt");

  const LiftedGraph lifted = lift_graph(module, "scripted.pt");

  // Images, body, six vectors a norm layer, source and share.
  EXPECT_EQ(lifted.graph->inputs().size(),
            1 + lifted.body.size() + 6 * lifted.norms.size() + 2);
  EXPECT_EQ(lifted.graph->outputs().size(), 2u);
  for (const auto* node : lifted.graph->nodes()) {
    EXPECT_NE(node->kind(), c10::prim::GetAttr);
    EXPECT_NE(node->kind(), c10::aten::batch_norm);
  }
}

TEST(TorchScriptGraph, ClassifierComesLast) {
  const auto module = torch::jit::load(std::string(testing::golden_dir()) +
                                       "/torchscript/traced.pt");

  const LiftedGraph lifted = lift_graph(module, "traced.pt");

  ASSERT_GE(lifted.body.size(), 2u);
  EXPECT_EQ(lifted.body[lifted.body.size() - 2].name, "fc.weight");
  EXPECT_EQ(lifted.body.back().name, "fc.bias");
  EXPECT_EQ(lifted.norms.front().name, "bn1");
}

}  // namespace
}  // namespace sotta
