#include "models/exported/exported_graph.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include "sotta/nn/norm_stats.h"

#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"

namespace sotta {
namespace {

using Kind = ExportedItem::Kind;

ExportedProgram read(const std::string& name) {
  return read_exported_program(std::string(testing::golden_dir()) +
                               "/exported/" + name + ".pt2");
}

ExportedNetwork lift(const ExportedProgram& program) {
  return lift_exported(program, at::kCPU, "net.pt2");
}

ExportedNode& node_of(ExportedProgram& program, const std::string& target) {
  for (ExportedNode& node : program.graph.nodes)
    if (node.target == "torch.ops.aten." + target) return node;
  throw std::runtime_error("no " + target);
}

ExportedArgument& argument_of(ExportedNode& node, const std::string& name) {
  for (ExportedArgument& argument : node.arguments)
    if (argument.name == name) return argument;
  throw std::runtime_error("no " + name);
}

void expect_refused(const ExportedProgram& program, const std::string& why) {
  testing::expect_error(ErrorKind::kUnsupported, "net.pt2: " + why,
                        [&] { lift(program); });
}

// What a GraphRun takes, all norm layers with these scales times their own.
torch::jit::Stack inputs_of(const ExportedNetwork& network,
                            const at::Tensor& images, double scales = 1) {
  torch::jit::Stack stack{images};
  for (const auto& parameter : network.body)
    stack.emplace_back(parameter.tensor);
  for (const auto& norm : network.norms) {
    stack.emplace_back(norm.scale * scales);
    stack.emplace_back(norm.shift);
    if (norm.kind != NormKind::kBatch) continue;
    for (const auto& vector : {norm.running_mean, norm.running_var})
      stack.emplace_back(vector.clone());
    for (int i = 0; i < 2; ++i)
      stack.emplace_back(norm.running_mean.clone());
  }
  stack.emplace_back(static_cast<int64_t>(NormStats::Source::kRunning));
  stack.emplace_back(0.);
  return stack;
}

TEST(ExportedGraphs, BecomePureFunctions) {
  const ExportedNetwork network = lift(read("mixed"));
  EXPECT_EQ(network.classes, 5);
  EXPECT_TRUE(network.gives_features);
  ASSERT_EQ(network.norms.size(), 3u);
  EXPECT_EQ(network.norms[0].name, "group");
  EXPECT_EQ(network.norms[1].name, "batch");
  EXPECT_EQ(network.norms[1].kind, NormKind::kBatch);
  ASSERT_EQ(network.body.size(), 5u);
  EXPECT_EQ(network.body.front().name, "conv1.weight");
  EXPECT_EQ(network.body.back().name, "fc.weight");

  torch::jit::Stack stack =
      inputs_of(network, at::rand({2, 3, 16, 16}), /*scales=*/0);
  network.run(stack);
  ASSERT_EQ(stack.size(), 2u);
  // Without scales every image is the same.
  const at::Tensor logits = stack[0].toTensor();
  EXPECT_TRUE(logits[0].equal(logits[1]));
}

TEST(ExportedGraphs, TheLastLayerOfTheCoreOperatorsIsFound) {
  const ExportedNetwork network = lift(read("instance_core"));
  EXPECT_TRUE(network.gives_features);
  ASSERT_EQ(network.norms.size(), 2u);
  EXPECT_EQ(network.norms[0].kind, NormKind::kInstance);
  EXPECT_EQ(network.body[network.body.size() - 2].name, "fc.weight");
  EXPECT_EQ(network.body.back().name, "fc.bias");
}

TEST(ExportedGraphs, OfAFixedBatchSizeAreRefused) {
  ExportedProgram program = read("mixed");
  program.graph.image_shape[0] = 4;
  expect_refused(program,
                 "was exported for batches of 4 images alone; export it with "
                 "dynamic_shapes of its first dimension");
  program.graph.image_shape.pop_back();
  expect_refused(program, "expected a network of images [N, C, H, W]");
}

TEST(ExportedGraphs, ThatGiveNoLogitsAreRefused) {
  ExportedProgram program = read("mixed");
  program.graph.output_shape[1].reset();
  expect_refused(program, "expected a network that gives logits");
  program.graph.output_shape[1] = int64_t{1} << 40;
  expect_refused(program, "expected a network that gives logits");
}

TEST(ExportedGraphs, BatchNormNeedsItsVectors) {
  for (const char* name : {"running_mean", "weight"}) {
    ExportedProgram program = read("mixed");
    argument_of(node_of(program, "batch_norm.default"), name).items = {{}};
    expect_refused(program, "has a batch norm layer without ");
  }
  ExportedProgram program = read("mixed");
  program.tensors.at("batch.bias").sizes = {3};
  expect_refused(program, "norm layer batch has vectors of different lengths");
}

// The last layer's weights, standardised over their rows.
TEST(ExportedGraphs, BatchNormMayStandardiseWeights) {
  ExportedProgram program = read("mixed");
  ExportedNode& linear = node_of(program, "linear.default");
  ExportedNode standardise = node_of(program, "batch_norm.default");
  argument_of(standardise, "input").items = argument_of(linear, "weight").items;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    argument_of(standardise, name).items = {{}};
  ExportedItem training;
  training.kind = Kind::kBool;
  training.integer = 1;
  argument_of(standardise, "training").items = {training};
  standardise.results[0].values[0] = program.graph.values++;
  argument_of(linear, "weight").items[0].value =
      standardise.results[0].values[0];
  auto& nodes = program.graph.nodes;
  nodes.insert(nodes.begin() + (&linear - nodes.data()), standardise);
  const ExportedNetwork network = lift(program);
  EXPECT_EQ(network.norms.size(), 3u);

  // What sees images is refused as before.
  ExportedNode& norm = node_of(program, "batch_norm.default");
  for (const char* name : {"weight", "bias"})
    argument_of(norm, name).items = {{}};
  expect_refused(program, "has a batch norm layer without scale or shift");
}

TEST(ExportedGraphs, BatchNormIsUsedOnce) {
  ExportedProgram program = read("mixed");
  auto& nodes = program.graph.nodes;
  const ExportedNode first = node_of(program, "batch_norm.default");
  ExportedNode second = first;
  argument_of(second, "input").items[0].value = first.results[0].values[0];
  second.results[0].values[0] = program.graph.values++;
  ExportedNode& relu = nodes[static_cast<size_t>(
      &node_of(program, "batch_norm.default") - nodes.data() + 1)];
  relu.arguments[0].items[0].value = second.results[0].values[0];
  nodes.insert(nodes.begin() + (&relu - nodes.data()), second);
  expect_refused(program, "uses batch norm layer batch twice");
}

TEST(ExportedGraphs, RandomNumbersAreRefused) {
  for (const std::string name :
       {"rand_like", "exponential", "poisson", "_standard_gamma"}) {
    ExportedProgram program = read("mixed");
    ExportedNode& node = node_of(program, "relu.default");
    node.target = "torch.ops.aten." + name + ".default";
    expect_refused(program, "draws random numbers (aten::" + name + ")");
  }
}

// rrelu draws its slopes in training, also as run_decompositions() leaves it;
// what is adapted is as in evaluation.
TEST(ExportedGraphs, SlopesOfTrainingAreNotDrawn) {
  for (const std::string name : {"rrelu", "rrelu_with_noise"}) {
    ExportedProgram program = read("mixed");
    ExportedNode& node = node_of(program, "relu.default");
    node.target = "torch.ops.aten." + name + ".default";
    if (name == "rrelu_with_noise") {
      ExportedArgument noise = node.arguments.at(0);
      noise.name = "noise";
      node.arguments.push_back(noise);
    }
    node.arguments.push_back(
        {"training", false, {{Kind::kBool, 0, /*integer=*/1, 0, {}}}});
    const ExportedNetwork network = lift(program);
    const at::Tensor images = at::rand({2, 3, 16, 16});
    const auto logits = [&] {
      torch::jit::Stack stack = inputs_of(network, images);
      network.run(stack);
      return stack[0].toTensor();
    };
    EXPECT_TRUE(logits().equal(logits())) << name;
  }
}

TEST(ExportedGraphs, OperatorsThatReachBeyondTheNetworkAreNotKnown) {
  for (const char* target :
       {"torch.ops.aten.from_file.default", "torch.ops.aten.set_.source_Tensor",
        "torch.ops.quantized.add.default", "os.system"}) {
    ExportedProgram program = read("mixed");
    node_of(program, "relu.default").target = target;
    expect_refused(program, "needs operators that this LibTorch (");
  }
}

TEST(ExportedGraphs, WhatTheLogitsDoNotNeedIsNotLookedAt) {
  ExportedProgram program = read("mixed");
  ExportedNode unknown;
  unknown.target = "torch.ops.higher_order.cond";
  program.graph.nodes.push_back(unknown);
  EXPECT_NO_THROW(lift(program));
}

}  // namespace
}  // namespace sotta
