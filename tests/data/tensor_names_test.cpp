#include "data/torch/tensor_names.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

std::map<std::string, Array> named(const std::vector<std::string>& names) {
  std::map<std::string, Array> tensors;
  for (const std::string& name : names)
    tensors[name] = allocate_array(ElementType::kUint8, {1}).array;
  return tensors;
}

TEST(TensorNames, StripsThePrefixWhereItIs) {
  auto tensors = named({"net.a", "net.b", "mean"});
  strip_prefix(tensors, "net.", "x.pth");
  EXPECT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors.count("a") + tensors.count("b") + tensors.count("mean"),
            3u);
  EXPECT_EQ(tensors.at("a").count(), 1);
  EXPECT_NE(tensors.at("a").data, nullptr);
}

TEST(TensorNames, RefusesAPrefixThatNoNameHas) {
  auto tensors = named({"a"});
  expect_error(ErrorKind::kInvalid, "begins with \"net.\"",
               [&] { strip_prefix(tensors, "net.", "x.pth"); });
}

TEST(TensorNames, RefusesToMergeTwoNames) {
  auto tensors = named({"a", "net.a"});
  expect_error(ErrorKind::kInvalid, "two tensors are named \"a\"",
               [&] { strip_prefix(tensors, "net.", "x.pth"); });
}

TEST(TensorNames, KnowsACommonPrefix) {
  EXPECT_TRUE(all_begin_with(named({"m.a", "m.b"}), "m."));
  EXPECT_FALSE(all_begin_with(named({"m.a", "b"}), "m."));
  EXPECT_FALSE(all_begin_with({}, "m."));
}

}  // namespace
}  // namespace sotta
