#include "sotta/gpu/precision.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

TEST(Precision, NamesAreReadBack) {
  for (const auto precision :
       {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16})
    EXPECT_EQ(parse_precision(to_text(precision)), precision);
}

TEST(Precision, OtherNamesAreRefused) {
  expect_error(ErrorKind::kInvalid, "expected fp32, tf32 or bf16, got \"fp16\"",
               [] { parse_precision("fp16"); });
}

TEST(Precision, CoarserOnesLetAGpuRound) {
  const auto may_round = [](Precision precision) {
    use_precision(precision, at::Device(at::kCUDA, 0));
    EXPECT_EQ(at::globalContext().allowTF32CuDNN(),
              at::globalContext().allowTF32CuBLAS());
    return at::globalContext().allowTF32CuDNN();
  };
  EXPECT_TRUE(may_round(Precision::kTf32));
  EXPECT_FALSE(may_round(Precision::kFloat32));
  EXPECT_TRUE(may_round(Precision::kBfloat16));
  EXPECT_FALSE(may_round(Precision::kFloat32));
}

TEST(Precision, Tf32NeedsAGpu) {
  expect_error(ErrorKind::kUnsupported,
               "tf32 is a format of GPUs, got device cpu",
               [] { use_precision(Precision::kTf32, at::kCPU); });
  use_precision(Precision::kBfloat16, at::kCPU);
}

}  // namespace
}  // namespace sotta
