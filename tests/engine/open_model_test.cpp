#include "sotta/engine/open_model.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "sotta/core/rng.h"
#include "sotta/data/safetensors.h"

#include "engine/fused.h"
#include "models/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;

// A network that every engine covers.
class OpenModel : public ::testing::Test {
 protected:
  OpenModel() {
    const ResNetSpec spec = named_resnet("resnet8", 10);
    const auto network = make_resnet(spec, random_resnet_state(spec, Rng(0)),
                                     {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}});
    write_safetensors(folder / "model.safetensors",
                      export_weights(*network, network->source()));
  }

  std::unique_ptr<Classifier> load(Precision precision,
                                   const std::string& engine) const {
    ModelOptions options;
    options.precision = precision;
    options.engine.name = engine;
    return open_model(folder / "model.safetensors", options);
  }

  const testing::TempDir folder;
};

TEST_F(OpenModel, TakesTheEngineThatCoversTheNetwork) {
  const auto fused = engine::fused_engines();
  EXPECT_EQ(load(Precision::kFloat32, "auto")->engine(),
            fused.empty() ? "libtorch" : fused.front());
  EXPECT_EQ(load(Precision::kFloat32, "libtorch")->engine(), "libtorch");
}

TEST_F(OpenModel, LeavesBf16ToLibTorchWithoutInstructionsForIt) {
  const auto fused = engine::fused_engines(Precision::kBfloat16);
  EXPECT_EQ(load(Precision::kBfloat16, "auto")->engine(),
            fused.empty() ? "libtorch" : "fused-avx3-bf16");
  EXPECT_EQ(load(Precision::kBfloat16, "libtorch")->engine(), "libtorch");
}

TEST_F(OpenModel, RunsTorchScriptByAnEngineThatIsListed) {
  ModelOptions options;
  options.normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  const auto model = open_model(
      std::string(testing::golden_dir()) + "/torchscript/scripted.pt", options);
  const auto names = available_engines();
  EXPECT_EQ(std::count(names.begin(), names.end(), model->engine()), 1);
}

TEST_F(OpenModel, RefusesWhatAnEngineDoesNotCompute) {
  if (engine::fused_engines(Precision::kBfloat16).empty())
    expect_error(ErrorKind::kUnsupported,
                 "computes bf16 on processors with AVX512-BF16 alone",
                 [&] { load(Precision::kBfloat16, "fused"); });
  expect_error(ErrorKind::kUnsupported, "needs a GPU, got device cpu",
               [&] { load(Precision::kBfloat16, "cuda"); });
  expect_error(ErrorKind::kInvalid, "warp",
               [&] { load(Precision::kBfloat16, "warp"); });
}

}  // namespace
}  // namespace sotta
