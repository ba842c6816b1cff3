#include "serve/http/model_repository.h"

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

class Repository : public ::testing::Test {
 protected:
  std::unique_ptr<ServedModel> model(const std::string& name) {
    return std::make_unique<ServedModel>(small_model(name), store);
  }

  TempDir folder;
  StateStore store{folder.path()};
  ModelRepository repository;
};

TEST_F(Repository, FindsModelsByName) {
  repository.add(model("b"));
  repository.add(model("a"));

  EXPECT_EQ(repository.find("a")->name(), "a");
  EXPECT_EQ(repository.list()[0].name, "a");
  EXPECT_EQ(repository.loaded().size(), 2u);
  expect_refusal(HttpStatus::kNotFound, "none of this name",
                 [&] { repository.find("c"); });
  testing::expect_error(ErrorKind::kInvalid, "different names",
                        [&] { repository.add(model("a")); });
}

TEST_F(Repository, AModelIsIdleWhenTheLastHandleGoes) {
  repository.add(model("a"));
  ModelHandle first = repository.find("a"), second = first;
  std::unique_ptr<ServedModel> idle;

  repository.begin_unload("a", [&](auto given) { idle = std::move(given); });

  expect_refusal(HttpStatus::kUnavailable, "being unloaded",
                 [&] { repository.find("a"); });
  first.reset();
  EXPECT_EQ(idle, nullptr);
  second.reset();
  ASSERT_NE(idle, nullptr);
  EXPECT_EQ(idle->name(), "a");
}

TEST_F(Repository, WhoGetsAnIdleModelMayPutItBack) {
  repository.add(model("a"));

  repository.begin_unload(
      "a", [&](auto idle) { repository.set_ready(std::move(idle)); });

  EXPECT_EQ(repository.find("a")->name(), "a");
  EXPECT_EQ(repository.list()[0].state, ModelReadiness::kReady);
}

TEST_F(Repository, WhileOneChangesAModelOthersAreRefused) {
  repository.add(model("a"));
  expect_refusal(HttpStatus::kConflict, "is loaded",
                 [&] { repository.begin_load("a"); });
  repository.begin_unload("a", [](auto) {});

  const auto expect_busy = [&] {
    expect_refusal(HttpStatus::kConflict, "it is being",
                   [&] { repository.begin_load("a"); });
    expect_refusal(HttpStatus::kConflict, "it is being",
                   [&] { repository.begin_unload("a", [](auto) {}); });
  };
  expect_busy();
  repository.set_unavailable("a", "it was unloaded");
  EXPECT_FALSE(repository.begin_unload("a", [](auto) {}));
  repository.begin_load("a");
  expect_busy();
  EXPECT_EQ(repository.list()[0].state, ModelReadiness::kLoading);
  repository.set_ready(model("a"));
  EXPECT_NO_THROW(repository.find("a"));
}

}  // namespace
}  // namespace sotta
