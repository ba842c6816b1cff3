#include "sotta/data/array.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "data/tensor.h"

namespace sotta {
namespace {

TEST(Array, CountsElementsAndBytes) {
  const auto [array, memory] = allocate_array(ElementType::kFloat32, {2, 3});
  EXPECT_EQ(array.count(), 6);
  EXPECT_EQ(array.bytes(), 24);
  EXPECT_EQ(array.as<float>()[5], 0.0f);
}

TEST(Array, RefusesShapesBeyondTheAddressSpace) {
  EXPECT_THROW(checked_bytes(ElementType::kInt64, {1LL << 40, 1LL << 40}, "x"),
               Error);
  EXPECT_THROW(checked_bytes(ElementType::kUint8, {-1}, "x"), Error);
}

TEST(Array, TensorKeepsTheMemoryAlive) {
  at::Tensor tensor;
  {
    auto [array, memory] = allocate_array(ElementType::kInt64, {3});
    reinterpret_cast<int64_t*>(memory)[2] = 42;
    tensor = to_tensor(array);
  }
  EXPECT_EQ(tensor[2].item<int64_t>(), 42);
}

TEST(Array, TensorAndBackIsTheSame) {
  for (const auto type :
       {ElementType::kUint8, ElementType::kInt64, ElementType::kFloat32,
        ElementType::kFloat16, ElementType::kBfloat16}) {
    auto [array, memory] = allocate_array(type, {2, 2});
    memory[3] = std::byte{1};
    const Array copy = to_array(to_tensor(array));
    EXPECT_EQ(copy.type, type);
    EXPECT_EQ(copy.shape, array.shape);
    EXPECT_EQ(copy.data.get()[3], std::byte{1});
  }
}

TEST(Array, RefusesTensorTypesItDoesNotHave) {
  EXPECT_THROW(
      to_array(to_tensor(allocate_array(ElementType::kUint8, {1}).array)
                   .to(at::kDouble)),
      Error);
}

}  // namespace
}  // namespace sotta
