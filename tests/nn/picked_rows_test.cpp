#include "nn/picked_rows.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

TEST(PickedRows, ComeFromBothTensorsInTheirOrder) {
  const at::Tensor front = at::arange(6).view({3, 2});
  const at::Tensor back = at::arange(6, 10).view({2, 2});
  EXPECT_TRUE(picked_rows(front, back, {4, 0, 2, 3, 0})
                  .equal(at::tensor({8, 9, 0, 1, 4, 5, 6, 7, 0, 1}, at::kLong)
                             .view({5, 2})));
  EXPECT_EQ(picked_rows(front, back, {}).size(0), 0);
  EXPECT_TRUE(picked_rows(front, back.narrow(0, 0, 0), {1})
                  .equal(front.narrow(0, 1, 1)));
}

TEST(PickedRows, RefusePlacesAndRowsThatAreNotThere) {
  const at::Tensor rows = at::arange(6).view({3, 2});
  EXPECT_THROW(picked_rows(rows, rows, {6}), Error);
  EXPECT_THROW(picked_rows(rows, rows, {-1}), Error);
  EXPECT_THROW(picked_rows(rows, at::arange(6).view({2, 3}), {0}), Error);
  EXPECT_THROW(picked_rows(rows, rows.to(at::kFloat), {0}), Error);
}

}  // namespace
}  // namespace sotta
