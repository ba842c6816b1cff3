#include "data/tensor.h"

#include <cstring>

#include <ATen/ops/from_blob.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

at::ScalarType scalar_type(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return at::kByte;
    case ElementType::kInt64:
      return at::kLong;
    case ElementType::kFloat32:
      return at::kFloat;
    case ElementType::kFloat16:
      return at::kHalf;
    case ElementType::kBfloat16:
      return at::kBFloat16;
  }
  return at::kByte;
}

ElementType element_type(at::ScalarType type) {
  for (auto candidate :
       {ElementType::kUint8, ElementType::kInt64, ElementType::kFloat32,
        ElementType::kFloat16, ElementType::kBfloat16})
    if (scalar_type(candidate) == type) return candidate;
  fail(ErrorKind::kUnsupported, "to_array",
       std::string("no array type for tensors of ") + c10::toString(type));
}

}  // namespace

at::Tensor to_tensor(const Array& array) {
  auto owner = array.data;
  void* memory = const_cast<std::byte*>(owner.get());
  return at::from_blob(
      memory, array.shape, [owner](void*) {},
      at::TensorOptions().dtype(scalar_type(array.type)));
}

Array to_array(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().cpu().contiguous();
  auto [array, memory] =
      allocate_array(element_type(plain.scalar_type()), plain.sizes().vec());
  if (array.bytes() > 0)  // an empty tensor may have no memory at all
    std::memcpy(memory, plain.data_ptr(), static_cast<size_t>(array.bytes()));
  return array;
}

}  // namespace sotta
