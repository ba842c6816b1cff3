#include "nn/picked_rows.h"

#include <vector>

#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

using GpuPickedRows = testing::OnGpu;

// Rows that are whole pieces of 16 bytes, rows that are not, more places than
// a launch can be handed.
TEST_F(GpuPickedRows, AreTheCpus) {
  for (const int64_t size : {32, 7, 5})
    for (const int64_t count : {1, 128, 2000})
      for (const auto type : {at::kByte, at::kFloat}) {
        const at::Tensor front = at::randint(200, {64, 3, size, size}, type);
        const at::Tensor back = at::randint(200, {9, 3, size, size}, type);
        std::vector<int64_t> places;
        for (int64_t i = 0; i < count; ++i)
          places.push_back(i * 31 % 73);
        EXPECT_TRUE(picked_rows(front.to(gpu), back.to(gpu), places)
                        .cpu()
                        .equal(picked_rows(front, back, places)));
      }
}

}  // namespace
}  // namespace sotta
