#include "serve/http/served_model.h"

#include "sotta/core/log.h"

#include "serve/request_error.h"
#include "serve/streams/state_store.h"
#include "tests/serve/expect_refusal.h"
#include "tests/serve/small_service.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_refusal;
using testing::small_model;
using testing::TempDir;

void touch(ServedModel& model) {
  model.streams().use("a", true,
                      [](ServedStream& stream) { stream.set_frozen(true); });
}

TEST(ServedModel, SettingsThatMakeNoStreamAreRefusedAtOnce) {
  const TempDir folder;
  const StateStore store(folder.path());
  ModelSettings settings = small_model();
  settings.method = "sota";
  testing::expect_error(ErrorKind::kInvalid, "sotta",
                        [&] { ServedModel model(settings, store); });

  settings = small_model();
  settings.changes["min_confidence"] = 7.0;
  testing::expect_error(ErrorKind::kInvalid, "min_confidence",
                        [&] { ServedModel model(settings, store); });
}

TEST(ServedModel, PromptAnswersNeedAMethodThatCanGiveThemAndNoJournal) {
  const TempDir folder;
  const StateStore store(folder.path());
  ModelSettings settings = small_model();
  settings.table.max_behind = 16;
  EXPECT_NO_THROW(ServedModel(settings, store));

  settings.journal = true;
  testing::expect_error(ErrorKind::kInvalid, "do not wait for the disk",
                        [&] { ServedModel model(settings, store); });
  settings.journal = false;
  settings.changes.clear();
  for (const std::string method : {"tent", "source"}) {
    settings.method = method;
    testing::expect_error(ErrorKind::kInvalid, "running statistics",
                          [&] { ServedModel model(settings, store); });
  }
}

TEST(ServedModel, ABatchThatGainsNothingIsWarnedOf) {
  const TempDir folder;
  const StateStore store(folder.path());
  std::string said;
  set_log_sink([&](LogLevel, const std::string& message) { said += message; });
  ModelSettings settings = small_model();
  settings.changes.clear();
  settings.method = "bn_stats";  // the batch's statistics

  ServedModel(settings, store);
  EXPECT_EQ(said, "");
  settings.batch_threads = 2;
  ServedModel(settings, store);
  EXPECT_NE(said.find("--batch-streams gains nothing"), said.npos) << said;
  set_log_sink(nullptr);
}

TEST(ServedModel, StatesBelongToWeightsMethodAndOptions) {
  const TempDir folder;
  const StateStore store(folder.path());
  {
    ServedModel model(small_model(), store);
    touch(model);
  }
  ModelSettings weights = small_model(), window = small_model(),
                option = small_model(), seed_and_guard = small_model();
  weights.checksum = "other";
  window.window = 8;
  option.changes["min_confidence"] = 0.6;
  seed_and_guard.seed = 99;
  seed_and_guard.guard.action = "rollback";

  for (const ModelSettings& other : {weights, window, option}) {
    ServedModel model(other, store);
    expect_refusal(HttpStatus::kConflict, "belongs to another",
                   [&] { touch(model); });
  }
  ServedModel same(seed_and_guard, store);
  EXPECT_NO_THROW(touch(same));
}

}  // namespace
}  // namespace sotta
