#include "data/tensor.h"

#include <cstring>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

TEST(ToTensor, SharesTheArraysMemoryAndKeepsItAlive) {
  at::Tensor tensor;
  const void* memory = nullptr;
  {
    auto [array, writable] = allocate_array(ElementType::kInt64, {2, 2});
    const int64_t values[] = {1, 2, 3, 4};
    std::memcpy(writable, values, sizeof values);
    memory = writable;
    tensor = to_tensor(array);
  }

  EXPECT_EQ(tensor.data_ptr(), memory);
  EXPECT_EQ(tensor[1][0].item<int64_t>(), 3);
}

TEST(ToArray, CopiesInCOrderWhateverTheStrides) {
  const at::Tensor counting = at::arange(6, at::kFloat).reshape({2, 3});

  const Array array = to_array(counting.t());

  EXPECT_EQ(array.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(array.as<float>()[1], 3);
  EXPECT_EQ(array.as<float>()[2], 1);
}

TEST(ToArray, EveryElementTypeComesBackAsItWas) {
  for (const auto type :
       {at::kByte, at::kLong, at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor tensor = at::arange(5, at::kFloat).to(type);

    const at::Tensor back = to_tensor(to_array(tensor));

    EXPECT_EQ(back.scalar_type(), type);
    EXPECT_TRUE(at::equal(back, tensor)) << c10::toString(type);
  }
}

TEST(ToArray, TakesEmptyTensors) {
  const Array array = to_array(at::empty({0, 3}, at::kFloat));

  EXPECT_EQ(array.count(), 0);
  EXPECT_EQ(to_tensor(array).size(1), 3);
}

TEST(ToArray, RefusesTypesWithoutACounterpart) {
  try {
    to_array(at::empty({1}, at::kDouble));
    FAIL() << "a tensor of doubles was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_STREQ(error.what(), "to_array: no array type for tensors of Double");
  }
}

}  // namespace
}  // namespace sotta
