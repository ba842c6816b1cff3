#include "data/torch/torch_tensor.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/pickle_builder.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::pickled;
using testing::PickledTensor;

// One tensor over a storage of these elements.
template <class T>
Array rebuild(const PickledTensor& tensor, const std::vector<T>& storage) {
  std::string bytes(storage.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), storage.data(), bytes.size());
  const std::string file = testing::make_checkpoint(pickled(tensor), bytes);
  const auto container = open_torch_container(
      borrow_bytes(reinterpret_cast<const std::byte*>(file.data()),
                   file.size()),
      "test.pth");
  const Pickle& pickle = container->object();
  Array shared = TorchTensors(*container, "test.pth")
                     .rebuild(pickle.at(pickle.root), "conv.weight");
  // The file ends here, so what shares its memory is copied.
  return copy_array_at({shared.data, 0}, 0, shared.type, shared.shape);
}

template <class T>
std::vector<T> elements(const Array& array) {
  return {array.as<T>(), array.as<T>() + array.count()};
}

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

void expect_refusal(const PickledTensor& tensor, ErrorKind kind,
                    const std::string& part) {
  expect_error(kind, part, [&] { rebuild(tensor, kSix); });
  expect_error(kind, "test.pth", [&] { rebuild(tensor, kSix); });
}

TEST(TorchTensor, TakesAWholeStorage) {
  const Array array = rebuild({}, kSix);
  EXPECT_EQ(array.type, ElementType::kFloat32);
  EXPECT_EQ(elements<float>(array), kSix);
}

TEST(TorchTensor, FollowsOffsetAndStrides) {
  PickledTensor tensor;
  tensor.shape = {3, 2};
  tensor.strides = {1, 3};
  EXPECT_EQ(elements<float>(rebuild(tensor, kSix)),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
  tensor.offset = 1;
  tensor.shape = {2, 1, 2};
  tensor.strides = {2, 999, 2};
  EXPECT_EQ(elements<float>(rebuild(tensor, kSix)),
            (std::vector<float>{1, 3, 3, 5}));
}

TEST(TorchTensor, AcceptsScalarsAndEmptyTensors) {
  PickledTensor scalar;
  scalar.offset = 4;
  scalar.shape = scalar.strides = {};
  EXPECT_EQ(elements<float>(rebuild(scalar, kSix)), std::vector<float>{4});
  PickledTensor empty;
  empty.shape = {0, int64_t{1} << 40, int64_t{1} << 40};
  empty.strides = {1, 1, 1};
  EXPECT_EQ(rebuild(empty, kSix).bytes(), 0);
}

TEST(TorchTensor, IgnoresTheStrideOfASingleElement) {
  PickledTensor tensor;
  tensor.shape = {1, 3, 1};
  tensor.strides = {INT64_MAX, 2, INT64_MAX};
  EXPECT_EQ(elements<float>(rebuild(tensor, kSix)),
            (std::vector<float>{0, 2, 4}));
}

TEST(TorchTensor, ConvertsDoublesAndInts) {
  PickledTensor tensor;
  tensor.storage = "DoubleStorage";
  tensor.storage_count = 2;
  tensor.shape = {2};
  const Array floats = rebuild<double>(tensor, {0.1, -2.5});
  EXPECT_EQ(floats.type, ElementType::kFloat32);
  EXPECT_EQ(elements<float>(floats), (std::vector<float>{0.1f, -2.5f}));
  tensor.storage = "IntStorage";
  const Array longs = rebuild<int32_t>(tensor, {-1, 7});
  EXPECT_EQ(longs.type, ElementType::kInt64);
  EXPECT_EQ(elements<int64_t>(longs), (std::vector<int64_t>{-1, 7}));
}

TEST(TorchTensor, RefusesDoublesThatNoFloatHolds) {
  PickledTensor tensor;
  tensor.storage = "DoubleStorage";
  tensor.storage_count = 1;
  tensor.shape = {1};
  expect_error(ErrorKind::kUnsupported, "\"conv.weight\" holds a value",
               [&] { rebuild<double>(tensor, {1e300}); });
}

TEST(TorchTensor, RefusesWindowsOutOfTheStorage) {
  PickledTensor tensor;
  tensor.offset = 1;
  expect_refusal(tensor, ErrorKind::kBadFormat, "reaches out of its storage");
  tensor.offset = INT64_MAX;
  expect_refusal(tensor, ErrorKind::kBadFormat, "reaches out of its storage");
  tensor.offset = 0;
  tensor.shape = {2, 2};
  tensor.strides = {5, 1};
  expect_refusal(tensor, ErrorKind::kBadFormat, "reaches out of its storage");
  tensor.strides = {INT64_MAX, INT64_MAX};
  expect_refusal(tensor, ErrorKind::kBadFormat, "reaches out of its storage");
}

TEST(TorchTensor, TheLastElementIsTheStoragesLast) {
  PickledTensor tensor;
  tensor.offset = 3;
  tensor.shape = {2};
  tensor.strides = {2};
  EXPECT_EQ(elements<float>(rebuild(tensor, kSix)), (std::vector<float>{3, 5}));
  tensor.offset = 4;
  expect_refusal(tensor, ErrorKind::kBadFormat, "reaches out of its storage");
}

TEST(TorchTensor, RefusesNegativeNumbers) {
  PickledTensor tensor;
  tensor.offset = -1;
  expect_refusal(tensor, ErrorKind::kBadFormat, "offset of at least 0");
  tensor.offset = 0;
  tensor.strides = {-1};
  expect_refusal(tensor, ErrorKind::kBadFormat, "of at least 0");
  tensor.shape = {-6};
  expect_refusal(tensor, ErrorKind::kBadFormat, "of at least 0");
}

TEST(TorchTensor, RefusesShapesWithoutStrides) {
  PickledTensor tensor;
  tensor.shape = {2, 3};
  expect_refusal(tensor, ErrorKind::kBadFormat, "one stride per dimension");
  tensor.shape = tensor.strides = std::vector<int64_t>(64, 1);
  EXPECT_EQ(rebuild(tensor, kSix).shape.size(), 64u);
  tensor.shape = std::vector<int64_t>(65, 1);
  expect_refusal(tensor, ErrorKind::kBadFormat, "at most 64");
}

TEST(TorchTensor, RefusesToUnfoldAStorageManyTimes) {
  PickledTensor tensor;
  tensor.shape = {1000000, 1000000};
  tensor.strides = {0, 0};
  expect_refusal(tensor, ErrorKind::kUnsupported, "repeats a storage");
  tensor.shape = {INT64_MAX, 3};
  expect_refusal(tensor, ErrorKind::kBadFormat, "more than 2^63");
}

TEST(TorchTensor, RefusesAStorageOfAnotherSize) {
  PickledTensor tensor;
  tensor.storage_count = 7;
  expect_refusal(tensor, ErrorKind::kBadFormat, "expected 7 elements");
}

TEST(TorchTensor, ComparesSizesBeforeAStorageIsUnpacked) {
  // A gigabyte that no deflated bytes back up: reading it would fail otherwise.
  auto bomb = testing::stored("archive/data/0", std::string(2 << 20, 'x'));
  bomb.method = 8;
  bomb.claimed_size = int64_t{1} << 30;
  const std::string file = testing::make_zip(
      {testing::stored("archive/data.pkl",
                       testing::finish_pickle(pickled(PickledTensor{}))),
       bomb});
  const auto container = open_torch_container(
      borrow_bytes(reinterpret_cast<const std::byte*>(file.data()),
                   file.size()),
      "test.pth");
  expect_error(ErrorKind::kBadFormat, "got 1073741824 bytes", [&] {
    TorchTensors(*container, "test.pth")
        .rebuild(container->object().at(container->object().root), "w");
  });
}

TEST(TorchTensor, NamesTheTensorOfAnUnknownType) {
  PickledTensor tensor;
  tensor.storage = "BoolStorage";
  expect_refusal(tensor, ErrorKind::kUnsupported,
                 "\"conv.weight\" has elements of bool");
}

TEST(TorchTensor, BoundsHowOftenAStorageIsShared) {
  const std::string file =
      testing::make_checkpoint(pickled(PickledTensor{}), std::string(24, 'x'));
  const auto container = open_torch_container(
      borrow_bytes(reinterpret_cast<const std::byte*>(file.data()),
                   file.size()),
      "test.pth");
  const PickleValue& value = container->object().at(container->object().root);
  TorchTensors tensors(*container, "test.pth");

  for (int i = 0; i < 16; ++i)
    tensors.rebuild(value, "tied");

  expect_error(ErrorKind::kBadFormat, "more than 16 times",
               [&] { tensors.rebuild(value, "tied"); });
}

}  // namespace
}  // namespace sotta
