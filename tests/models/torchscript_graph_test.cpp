#include "models/torchscript_graph.h"

#include <map>
#include <sstream>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/serialization/import.h>

#include "models/torchscript.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
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

using Tensors = std::map<std::string, at::Tensor>;

// A network of one module, whose code calls the mean over each channel of
// images [N, 4, H, W] "rows".
class OneModule {
 public:
  OneModule(const Tensors& parameters, const Tensors& buffers,
            const std::string& code)
      : module_("Net") {
    for (const auto& [name, tensor] : parameters)
      module_.register_parameter(name, tensor, false);
    for (const auto& [name, tensor] : buffers)
      module_.register_buffer(name, tensor);
    module_.define("def forward(self, x):\n  rows = x.mean([2, 3])\n  return " +
                   code + "\n");
    module_.eval();
  }

  std::unique_ptr<Classifier> load() const {
    std::ostringstream file;
    module_.save(file);
    LoadOptions options;
    options.normalisation = Normalisation{{0, 0, 0, 0}, {1, 1, 1, 1}};
    return parse_torchscript(file.str(), options, "net");
  }

  // Loads it and compares its logits with the module's.
  std::unique_ptr<Classifier> load_and_compare() {
    auto model = load();
    const at::Tensor images = at::rand({6, 4, 3, 3});
    const at::Tensor wanted = module_.forward({images}).toTensor();
    EXPECT_TRUE(testing::close(
        model->forward(images, model->source(), NormStats::running()).logits,
        wanted, 1e-5));
    return model;
  }

 private:
  torch::jit::Module module_;
};

Tensors with_head(Tensors tensors) {
  tensors["head"] = at::randn({5, 4});
  return tensors;
}

std::string norm(const std::string& rows, const std::string& scale,
                 const std::string& shift) {
  return "torch.layer_norm(" + rows + ", [4], self." + scale + ", self." +
         shift + ", 1e-5, True)";
}

TEST(TorchScriptGraph, NormLayersOfOneModuleStayApart) {
  const Tensors vectors = {{"g1", at::rand({4})},
                           {"b1", at::randn({4})},
                           {"g2", at::randn({4})},
                           {"b2", at::rand({4})}};
  OneModule net(
      with_head(vectors), {},
      "torch.linear(" +
          norm("torch.relu(" + norm("rows", "g1", "b1") + ")", "g2", "b2") +
          ", self.head)");

  const auto model = net.load_and_compare();

  ASSERT_EQ(model->norm_layers().size(), 2u);
  EXPECT_EQ(model->norm_layers()[0].name, "g1");
  EXPECT_EQ(model->norm_layers()[1].name, "g2");
}

TEST(TorchScriptGraph, AModuleMayHaveMoreThanItsNormLayersVectors) {
  OneModule net(with_head({{"weight", at::rand({4})},
                           {"bias", at::randn({4})},
                           {"gain", at::rand({4})}}),
                {{"offset", at::randn({4})}},
                "torch.linear(" + norm("rows", "weight", "bias") +
                    " * self.gain + self.offset, self.head)");

  const auto model = net.load_and_compare();

  EXPECT_EQ(model->norm_layers().size(), 1u);
  EXPECT_EQ(model->source().body.numel(), 4 + 20);
}

TEST(TorchScriptGraph, VectorsOfNormLayersMayServeElsewhereToo) {
  OneModule net(
      with_head({{"weight", at::rand({4})}, {"bias", at::randn({4})}}), {},
      "torch.linear(" + norm("rows", "weight", "bias") +
          " * self.weight, self.head)");
  net.load_and_compare();
}

TEST(TorchScriptGraph, InstanceNormMayHaveRunningAverages) {
  OneModule net(
      with_head({{"weight", at::rand({4})}, {"bias", at::randn({4})}}),
      {{"mean", at::randn({4})}, {"var", at::rand({4}) + 0.5}},
      "torch.linear(torch.instance_norm(x, self.weight, self.bias, self.mean, "
      "self.var, False, 0.1, 1e-5, True).mean([2, 3]), self.head)");
  net.load_and_compare();
}

TEST(TorchScriptGraph, ScalesSharedWithoutTheirShiftsAreRefused) {
  const OneModule net(
      with_head({{"weight", at::rand({4})},
                 {"bias", at::randn({4})},
                 {"other", at::randn({4})}}),
      {},
      "torch.linear(" +
          norm(norm("rows", "weight", "bias"), "weight", "other") +
          ", self.head)");
  testing::expect_error(ErrorKind::kUnsupported,
                        "uses scales of norm layer weight twice",
                        [&] { net.load(); });
}

// The weights are no parameter themselves, or no layer has them.
TEST(TorchScriptGraph, HeadsThatAreReckonedHaveTheirNumberOfClasses) {
  const Tensors tensors = with_head({{"weight", at::rand({4})},
                                     {"bias", at::randn({4})},
                                     {"hidden", at::randn({4, 4})},
                                     {"gate", at::randn({1, 4})}});
  const std::string rows =
      "torch.linear(" + norm("rows", "weight", "bias") + ", self.hidden)";
  for (const std::string& code :
       {"torch.linear(" + rows + ", self.head / self.head.norm())",
        rows + ".matmul(self.head.t())",
        norm("rows", "weight", "bias") + ".matmul(self.head.t())",
        "torch.linear(" + rows + ", self.head) * torch.linear(" + rows +
            ", self.gate)"})
    EXPECT_EQ(OneModule(tensors, {}, code).load_and_compare()->classes(), 5)
        << code;
}

}  // namespace
}  // namespace sotta
