#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "sotta/corrupt/corruption.h"

#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

class GpuCorruption : public testing::OnGpu,
                      public ::testing::WithParamInterface<std::string> {};

// Smooth shapes with some texture: what corruptions are made for.
at::Tensor pictures() {
  const at::Tensor x = at::arange(32).view({1, 1, 1, 32});
  const at::Tensor y = at::arange(32).view({1, 1, 32, 1});
  const at::Tensor n = at::arange(8).view({8, 1, 1, 1});
  const at::Tensor c = at::arange(3).view({1, 3, 1, 1});
  return (x * (n + 3) + y * (c * 2 + 1) + (x * y).remainder(17 + n) * 3)
      .remainder(256)
      .to(at::kByte);
}

TEST_P(GpuCorruption, GivesTheCpusImages) {
  CorruptionOptions options;
  options.kind = GetParam();
  const Corruption corruption(options, 32);
  const std::vector<int64_t> indices = {0, 1, 2, 3, 4, 5, 6, 7};

  const at::Tensor wanted = corruption.apply(pictures(), indices);
  const at::Tensor found = corruption.apply(pictures().to(gpu), indices);

  ASSERT_TRUE(found.is_cuda());
  const at::Tensor difference =
      (found.cpu().to(at::kInt) - wanted.to(at::kInt)).abs();
  // A sum that is rounded otherwise moves a value across a whole number.
  EXPECT_LE(difference.max().item<int>(), 1);
  EXPECT_LE(difference.to(at::kDouble).mean().item<double>(), 0.002);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuCorruption,
                         ::testing::ValuesIn(corruption_names()),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
