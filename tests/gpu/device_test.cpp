#include "sotta/gpu/device.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(Device, TheCpuIsAlwaysThere) {
  EXPECT_TRUE(parse_device("cpu").is_cpu());
  EXPECT_EQ(available_devices().front(), "cpu");
}

TEST(Device, EveryAvailableDeviceParses) {
  for (const auto& name : available_devices())
    EXPECT_EQ(parse_device(name).str(), name);
}

TEST(Device, MissingGpuIsOneClearSentence) {
  try {
    parse_device("cuda:99");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cuda:99"), std::string::npos);
  }
}

TEST(Device, NothingIsToBeWaitedForOnTheCpu) {
  EXPECT_NO_THROW(wait_for(parse_device("cpu")));
}

TEST(Device, OtherWordsAreRefused) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cudax"})
    EXPECT_THROW(parse_device(text), Error) << text;
}

TEST(Device, PartsOfATensorMayStartBetween16Bytes) {
  const at::Tensor whole = at::zeros({64}, at::kByte);
  EXPECT_TRUE(starts_on_16_bytes(whole));
  EXPECT_TRUE(starts_on_16_bytes(whole.narrow(0, 16, 8)));
  for (const int64_t first : {1, 2, 4, 8, 15, 24})
    EXPECT_FALSE(starts_on_16_bytes(whole.narrow(0, first, 8))) << first;
}

TEST(Precision, NamesAreReadBack) {
  for (const auto precision :
       {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16})
    EXPECT_EQ(parse_precision(to_text(precision)), precision);
}

TEST(Precision, OtherNamesAreRefused) {
  testing::expect_error(ErrorKind::kInvalid,
                        "expected fp32, tf32 or bf16, got \"fp16\"",
                        [] { parse_precision("fp16"); });
}

TEST(Precision, Tf32NeedsAGpu) {
  testing::expect_error(ErrorKind::kUnsupported,
                        "tf32 is a format of GPUs, got device cpu",
                        [] { check_precision(Precision::kTf32, at::kCPU); });
  check_precision(Precision::kBfloat16, at::kCPU);
  check_precision(Precision::kTf32, at::Device(at::kCUDA, 0));
}

}  // namespace
}  // namespace sotta
