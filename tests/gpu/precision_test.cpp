#include "sotta/gpu/precision.h"

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

TEST(Precision, Tf32NeedsAGpu) {
  expect_error(ErrorKind::kUnsupported,
               "tf32 is a format of GPUs, got device cpu",
               [] { check_precision(Precision::kTf32, at::kCPU); });
  check_precision(Precision::kBfloat16, at::kCPU);
  check_precision(Precision::kTf32, at::Device(at::kCUDA, 0));
}

}  // namespace
}  // namespace sotta
