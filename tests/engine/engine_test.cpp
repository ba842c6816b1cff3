#include "sotta/engine/engine.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "engine/cuda/cuda_classifier.h"
#include "engine/fused.h"
#include "tests/engine/models.h"
#include "tests/support/expect_error.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

// The fused engine's name here, or LibTorch's where there is none.
std::string best_engine() {
  const auto fused = engine::fused_engines();
  return fused.empty() ? "libtorch" : fused.front();
}

std::string chosen(const std::string& model, const std::string& name) {
  EngineOptions options;
  options.name = name;
  return choose_engine(engine::make_model(model), options)->engine();
}

TEST(ChooseEngine, AutoTakesTheFusedOneWhereItCovers) {
  EXPECT_EQ(chosen("resnet8", "auto"), best_engine());
  EXPECT_EQ(chosen("uneven", "auto"), "libtorch");
  const auto other =
      choose_engine(std::make_unique<testing::LinearClassifier>(2, 1.0));
  EXPECT_EQ(other->engine(), "by hand");
}

TEST(ChooseEngine, LibtorchCanBeAskedFor) {
  EXPECT_EQ(chosen("resnet8", "libtorch"), "libtorch");
}

TEST(ChooseEngine, SaysWhatTheFusedEngineDoesNotCover) {
  testing::expect_error(ErrorKind::kUnsupported, "multiples of 16",
                        [] { chosen("uneven", "fused"); });
}

TEST(ChooseEngine, SaysHowManyChannelsTheFusedEngineTakes) {
  EngineOptions options;
  options.name = "fused";
  testing::expect_error(ErrorKind::kUnsupported, "at most 16 channels", [&] {
    choose_engine(engine::make_model("resnet8", /*channels=*/17), options);
  });
}

TEST(ChooseEngine, AFusedClassifierStaysAsItIs) {
  auto model = choose_engine(engine::make_model("resnet8"));
  if (!engine::is_fused(*model)) GTEST_SKIP() << "not on this processor";
  const Classifier* before = model.get();
  EngineOptions options;
  options.name = "fused";
  EXPECT_EQ(choose_engine(std::move(model), options).get(), before);
}

TEST(ChooseEngine, RefusesAnotherEngineThanTheOneThatRuns) {
  auto fused = choose_engine(engine::make_model("resnet8"));
  if (!engine::is_fused(*fused)) GTEST_SKIP() << "not on this processor";
  EngineOptions options;
  options.name = "cuda";
  testing::expect_error(ErrorKind::kUnsupported, "needs a GPU, got device cpu",
                        [&] { choose_engine(std::move(fused), options); });
  options.name = "fused";
  testing::expect_error(ErrorKind::kUnsupported, "fused engine", [&] {
    choose_engine(engine::make_cuda(engine::make_model("resnet8")), options);
  });
  options.name = "auto";
  options.low_memory = true;
  testing::expect_error(ErrorKind::kInvalid, "low_memory", [&] {
    choose_engine(engine::make_cuda(engine::make_model("resnet8")), options);
  });
}

TEST(ChooseEngine, RefusesLowMemoryWhereItWouldChangeNothing) {
  for (const std::string name : {"libtorch", "auto"}) {
    EngineOptions options;
    options.name = name;
    options.low_memory = true;
    testing::expect_error(
        ErrorKind::kInvalid, "low_memory: is an option of the fused engine",
        [&] { choose_engine(engine::make_model("uneven"), options); });
  }
}

TEST(AvailableEngines, AreTheNamesThatClassifiersHave) {
  const auto names = available_engines();
  for (const auto& name : {chosen("resnet8", "auto"), chosen("uneven", "auto")})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
}

TEST(ChooseEngine, RefusesUnknownNames) {
  testing::expect_error(ErrorKind::kInvalid, "steam",
                        [] { chosen("resnet8", "steam"); });
}

}  // namespace
}  // namespace sotta
