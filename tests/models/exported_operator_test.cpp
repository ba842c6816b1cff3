#include "models/exported/exported_operator.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using Kind = ExportedItem::Kind;
using Values = std::vector<c10::IValue>;

ExportedItem value(size_t number) {
  return {Kind::kValue, number, 0, 0, {}};
}
ExportedItem whole(int64_t number, Kind kind = Kind::kInt) {
  return {kind, 0, number, 0, {}};
}

// Value 0 is its argument "self", value 1 its result.
ExportedNode node(const std::string& operation,
                  std::vector<ExportedArgument> others) {
  ExportedNode made{"torch.ops.aten." + operation,
                    {{"self", false, {value(0)}}},
                    {{false, {1}}}};
  for (auto& other : others)
    made.arguments.push_back(std::move(other));
  return made;
}

c10::IValue run(const ExportedNode& node, const c10::IValue& argument) {
  Values values = {argument, {}};
  ExportedCall(*find_operator(node.target), node, at::kCPU, "net").run(values);
  return values[1];
}

TEST(ExportedOperators, AreFoundByNameAndOverload) {
  EXPECT_TRUE(find_operator("torch.ops.aten.relu.default"));
  EXPECT_TRUE(find_operator("torch.ops.aten.add.Tensor"));
  EXPECT_TRUE(find_operator("_operator.floordiv"));
  EXPECT_FALSE(find_operator("torch.ops.aten.add.Nothing"));
  EXPECT_FALSE(find_operator("torch.ops.prim.device.default"));
  EXPECT_FALSE(find_operator("torch.ops.aten.from_file.default"));
  EXPECT_FALSE(find_operator("torch.ops.aten."));
  EXPECT_FALSE(find_operator(""));
  EXPECT_EQ(operator_name("torch.ops.aten.relu.default"), "aten::relu");
  EXPECT_EQ(operator_name("torch.ops.aten.add.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(operator_name("a\nb"), "a?b");
}

TEST(ExportedOperators, GetTheirDefaults) {
  const at::Tensor ones = at::ones({2, 3});
  EXPECT_TRUE(run(node("sum.dim_IntList", {{"dim", true, {whole(1)}}}), ones)
                  .toTensor()
                  .equal(at::ones({2}) * 3));
}

TEST(ExportedOperators, NumbersStandForTensors) {
  const at::Tensor found =
      run(node("add.Tensor",
               {{"other", false, {{Kind::kFloat, 0, 0, .5, {}}}}}),
          at::ones({2}, at::kHalf))
          .toTensor();
  EXPECT_EQ(found.scalar_type(), at::kHalf);
  EXPECT_TRUE(found.equal(at::ones({2}, at::kHalf) * 1.5));
}

TEST(ExportedOperators, NumbersStandForLists) {
  const c10::IValue pooled =
      run(node("max_pool2d.default", {{"kernel_size", false, {whole(2)}}}),
          at::ones({1, 1, 4, 4}));
  EXPECT_EQ(pooled.toTensor().size(3), 2);
}

TEST(ExportedOperators, TypesFormatsAndDevicesAreTranslated) {
  const int64_t half = static_cast<int64_t>(ExportedType::kFloat16);
  const at::Tensor copied =
      run(node("_to_copy.default",
               {{"dtype", false, {whole(half, Kind::kType)}},
                {"layout", false, {whole(7, Kind::kLayout)}},
                {"device", false, {{Kind::kDevice, 0, 0, 0, "cuda"}}},
                {"memory_format", false, {whole(2, Kind::kFormat)}}}),
          at::ones({2, 3, 4, 4}))
          .toTensor();
  EXPECT_EQ(copied.scalar_type(), at::kHalf);
  EXPECT_TRUE(copied.device().is_cpu());
  EXPECT_TRUE(copied.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(ExportedOperators, GiveListsOfTensors) {
  ExportedNode chunk = node("chunk.default", {{"chunks", false, {whole(2)}}});
  chunk.results = {{true, {1, 2}}};
  Values values = {at::ones({4}), {}, {}};
  ExportedCall(*find_operator(chunk.target), chunk, at::kCPU, "net")
      .run(values);
  EXPECT_EQ(values[2].toTensor().numel(), 2);
  values = {at::ones({1}), {}, {}};
  EXPECT_THROW(ExportedCall(*find_operator(chunk.target), chunk, at::kCPU, "n")
                   .run(values),
               std::runtime_error);
}

TEST(ExportedOperators, ArgumentsThatTheyDoNotTakeAreRefused) {
  const auto refused = [](const std::string& why,
                          std::vector<ExportedArgument> arguments) {
    testing::expect_error(ErrorKind::kUnsupported, why, [&] {
      run(node("softmax.int", std::move(arguments)), at::ones({2}));
    });
  };
  refused("net: operator aten::softmax.int lacks its argument dim", {});
  refused("has an argument that this LibTorch does not know",
          {{"dim", false, {whole(0)}}, {"other", false, {whole(0)}}});
  refused("has an argument dim that it does not take",
          {{"dim", false, {{Kind::kFloat, 0, 0, .5, {}}}}});
  refused("has an argument dim that it does not take",
          {{"dim", true, {whole(1)}}});
  refused("has an argument dim that it does not take: expected a value",
          {{"dim", false, {{}}}});
  refused(
      "has an argument dtype that it does not take: element type 99",
      {{"dim", false, {whole(0)}}, {"dtype", false, {whole(99, Kind::kType)}}});
  refused("has an argument dtype that it does not take: \"as_graph\"",
          {{"dim", false, {whole(0)}},
           {"dtype", false, {{Kind::kOther, 0, 0, 0, "as_graph"}}}});
}

TEST(ExportedOperators, ValuesOfAnotherTypeAreAnErrorWhenTheyRun) {
  EXPECT_THROW(run(node("relu.default", {}), std::string("x")), std::exception);
  EXPECT_THROW(run(node("relu.default", {}), at::Tensor()), std::exception);
}

}  // namespace
}  // namespace sotta
