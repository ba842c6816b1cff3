#include "gpu/download.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Download, GivesEachTensorBackInItsShape) {
  const at::Tensor table = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor turned = table.t();
  const at::Tensor scalar = at::tensor(7.f);

  const auto found = download({table, scalar, turned});

  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].equal(table));
  EXPECT_TRUE(found[1].equal(scalar));
  EXPECT_TRUE(found[2].equal(turned));
  for (const auto& tensor : found)
    EXPECT_TRUE(tensor.is_contiguous());
}

TEST(Download, LeavesUndefinedTensorsUndefined) {
  const at::Tensor row = at::arange(3, at::kFloat);

  const auto found = download({{}, row, {}});

  EXPECT_FALSE(found[0].defined());
  EXPECT_TRUE(found[1].equal(row));
  EXPECT_FALSE(found[2].defined());
  EXPECT_FALSE(download({at::Tensor()})[0].defined());
  EXPECT_TRUE(download({}).empty());
}

}  // namespace
}  // namespace sotta
