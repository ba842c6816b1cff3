#include "sotta/engine/engine.h"

#include <gtest/gtest.h>

#include "tests/engine/models.h"
#include "tests/support/expect_error.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

std::string chosen(const std::string& model, const std::string& name) {
  EngineOptions options;
  options.name = name;
  return choose_engine(engine::make_model(model), options)->engine();
}

TEST(ChooseEngine, AutoTakesTheFusedOneWhereItCovers) {
  const bool here = available_engines().size() > 1;
  EXPECT_EQ(chosen("resnet8", "auto"), here ? "fused" : "libtorch");
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

TEST(ChooseEngine, RefusesUnknownNames) {
  testing::expect_error(ErrorKind::kInvalid, "steam",
                        [] { chosen("resnet8", "steam"); });
}

}  // namespace
}  // namespace sotta
