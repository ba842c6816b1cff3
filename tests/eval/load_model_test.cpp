#include "sotta/eval/load_model.h"

#include <gtest/gtest.h>

#include "tests/eval/tiny_bench.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

class LoadModel : public ::testing::Test {
 protected:
  std::unique_ptr<Classifier> load(Precision precision,
                                   const std::string& engine) const {
    LoadOptions options;
    options.precision = precision;
    EngineOptions engine_options;
    engine_options.name = engine;
    return load_model(tiny.model(), options, engine_options);
  }

  const testing::TinyBench tiny;
};

TEST_F(LoadModel, LeavesOtherPrecisionsToLibTorch) {
  EXPECT_EQ(load(Precision::kBfloat16, "auto")->engine(), "libtorch");
  EXPECT_EQ(load(Precision::kBfloat16, "libtorch")->engine(), "libtorch");
}

TEST_F(LoadModel, RefusesWhatAnEngineDoesNotCompute) {
  expect_error(ErrorKind::kUnsupported, "computes in fp32, got bf16",
               [&] { load(Precision::kBfloat16, "fused"); });
  expect_error(ErrorKind::kInvalid, "warp",
               [&] { load(Precision::kBfloat16, "warp"); });
}

}  // namespace
}  // namespace sotta
