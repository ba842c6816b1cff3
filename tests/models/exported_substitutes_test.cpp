#include "models/exported/exported_substitutes.h"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace sotta {
namespace {

using torch::jit::Stack;

Stack call(const std::string& target, Stack stack) {
  find_substitute(target)->call(stack);
  return stack;
}

int64_t whole(const std::string& target, Stack stack) {
  return call(target, std::move(stack))[0].toInt();
}

bool holds(const std::string& target, int64_t a, int64_t b) {
  return call(target, {a, b})[0].toBool();
}

TEST(ExportedSubstitutes, SizesAreReckonedAsInPython) {
  EXPECT_EQ(whole("_operator.add", {int64_t{2}, int64_t{3}}), 5);
  EXPECT_EQ(whole("_operator.sub", {int64_t{2}, int64_t{3}}), -1);
  EXPECT_EQ(whole("_operator.mul", {int64_t{2}, int64_t{3}}), 6);
  EXPECT_EQ(whole("_operator.floordiv", {int64_t{-7}, int64_t{2}}), -4);
  EXPECT_EQ(whole("_operator.floordiv", {int64_t{7}, int64_t{-1}}), -7);
  EXPECT_EQ(whole("_operator.mod", {int64_t{-7}, int64_t{2}}), 1);
  EXPECT_EQ(whole("_operator.pow", {int64_t{3}, int64_t{4}}), 81);
  EXPECT_EQ(whole("torch.sym_max", {int64_t{3}, int64_t{4}}), 4);
  EXPECT_EQ(whole("torch.sym_min", {int64_t{3}, int64_t{4}}), 3);
  EXPECT_EQ(whole("_operator.neg", {int64_t{3}}), -3);
  EXPECT_EQ(whole("torch.sym_int", {2.9}), 2);
  EXPECT_EQ(whole("torch.sym_ite", {false, int64_t{1}, int64_t{2}}), 2);
  EXPECT_EQ(call("_operator.truediv", {int64_t{1}, int64_t{2}})[0].toDouble(),
            .5);
  EXPECT_EQ(call("_operator.add", {int64_t{1}, .5})[0].toDouble(), 1.5);
  EXPECT_EQ(call("_operator.floordiv", {5., 2.})[0].toDouble(), 2);
  EXPECT_EQ(call("torch.sym_float", {int64_t{2}})[0].toDouble(), 2);
  EXPECT_EQ(call("torch._sym_sqrt", {int64_t{9}})[0].toDouble(), 3);
}

TEST(ExportedSubstitutes, SizesAreCompared) {
  EXPECT_TRUE(holds("_operator.eq", 2, 2));
  EXPECT_TRUE(holds("_operator.ne", 2, 3));
  EXPECT_TRUE(holds("_operator.lt", 2, 3));
  EXPECT_FALSE(holds("_operator.lt", 3, 3));
  EXPECT_TRUE(holds("_operator.le", 3, 3));
  EXPECT_TRUE(holds("_operator.gt", 4, 3));
  EXPECT_TRUE(holds("_operator.ge", 3, 3));
  EXPECT_FALSE(holds("_operator.and_", 1, 0));
  EXPECT_TRUE(holds("_operator.or_", 1, 0));
  EXPECT_FALSE(call("torch.sym_not", {true})[0].toBool());
}

TEST(ExportedSubstitutes, SizesThatDoNotFitAreErrors) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t least = std::numeric_limits<int64_t>::min();
  for (const auto& [target, a, b] :
       {std::tuple{"_operator.add", most, int64_t{1}},
        std::tuple{"_operator.sub", least, int64_t{1}},
        std::tuple{"_operator.mul", most, int64_t{2}},
        std::tuple{"_operator.pow", most, int64_t{2}},
        std::tuple{"_operator.floordiv", int64_t{1}, int64_t{0}},
        std::tuple{"_operator.floordiv", least, int64_t{-1}},
        std::tuple{"_operator.mod", int64_t{1}, int64_t{0}}})
    EXPECT_THROW(call(target, {a, b}), std::runtime_error) << target;
  EXPECT_THROW(call("math.trunc", {1e30}), std::runtime_error);
}

TEST(ExportedSubstitutes, TensorsHaveSizes) {
  const at::Tensor tensor = at::ones({2, 3});
  EXPECT_EQ(whole("torch.ops.aten.sym_size.int", {tensor, int64_t{-1}}), 3);
  EXPECT_EQ(whole("torch.ops.aten.sym_stride.int", {tensor, int64_t{0}}), 3);
  EXPECT_EQ(whole("torch.ops.aten.sym_numel.default", {tensor}), 6);
}

TEST(ExportedSubstitutes, AttentionIsASoftmaxOfProducts) {
  const at::Tensor q = at::randn({2, 2, 5, 3}), k = at::randn({2, 2, 5, 3}),
                   v = at::randn({2, 2, 5, 3});
  const auto attend = [&](c10::IValue mask, bool causal, c10::IValue scale) {
    return call("torch.ops.aten.scaled_dot_product_attention.default",
                {q, k, v, std::move(mask), 0., causal, std::move(scale),
                 false})[0]
        .toTensor();
  };
  const at::Tensor scores = q.matmul(k.transpose(2, 3));
  const double root = 1 / std::sqrt(3.);
  EXPECT_TRUE(testing::close(attend({}, false, {}),
                             (scores * root).softmax(-1).matmul(v)));
  EXPECT_TRUE(testing::close(attend({}, false, 2.),
                             (scores * 2).softmax(-1).matmul(v), 1e-5));
  // The first token sees itself alone.
  EXPECT_TRUE(
      testing::close(attend({}, true, {}).select(2, 0), v.select(2, 0)));
  const at::Tensor seen = at::ones({5, 5}, at::kBool).tril();
  EXPECT_TRUE(testing::close(attend(seen, false, {}), attend({}, true, {})));
  EXPECT_TRUE(testing::close(attend(at::ones({5, 5}) * 3, false, {}),
                             attend({}, false, {})));
}

TEST(ExportedSubstitutes, BatchNormOfSingleChannelsIsInstanceNorm) {
  const at::Tensor x = at::randn({2, 3, 4, 4}), scale = at::rand({3}),
                   shift = at::randn({3});
  const at::Tensor found =
      call("torch.ops.aten._native_batch_norm_legit.no_stats",
           {x.view({1, 6, 4, 4}), scale.repeat({2}), shift.repeat({2}), true,
            .1, 1e-5})[0]
          .toTensor()
          .view({2, 3, 4, 4});
  EXPECT_TRUE(testing::close(
      found, at::instance_norm(x, scale, shift, {}, {}, true, .1, 1e-5, false),
      1e-5));
}

TEST(ExportedSubstitutes, ViewsDoNotDependOnTheLayout) {
  const at::Tensor wide = at::rand({2, 3});
  const at::Tensor found = call("torch.ops.aten.view.default",
                                {wide.t(), c10::List<int64_t>({6})})[0]
                               .toTensor();
  EXPECT_TRUE(found.equal(wide.t().contiguous().view({6})));
}

TEST(ExportedSubstitutes, SeveralDimensionsAreSqueezed) {
  const at::Tensor found =
      call("torch.ops.aten.squeeze.dims",
           {at::ones({1, 2, 1, 3, 1}), c10::List<int64_t>({0, -3, 1})})[0]
          .toTensor();
  EXPECT_EQ(found.sizes(), (std::vector<int64_t>{2, 3, 1}));
}

TEST(ExportedSubstitutes, AttentionWithAMaskHasNone) {
  Stack stack(13);
  stack[9] = at::ones({1});
  EXPECT_THROW(
      call("torch.ops.aten._native_multi_head_attention.default", stack),
      std::runtime_error);
  EXPECT_EQ(find_substitute("torch.ops.aten.relu.default"), nullptr);
}

}  // namespace
}  // namespace sotta
