#include "serve/streams/disk_quota.h"

#include <gtest/gtest.h>

#include "serve/streams/state_store.h"
#include "tests/serve/small_service.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

TEST(DiskQuota, CountsTheFilesOfFoldersAsTheyWereLookedAtLast) {
  const TempDir folder;
  DiskQuota quota(100);
  folder.write("a/one", std::string(30, 'x'));
  folder.write("a/two", std::string(30, 'x'));
  folder.write("b/one", std::string(30, 'x'));

  quota.measure(folder / "a");
  quota.measure(folder / "b");
  quota.measure(folder / "none");
  EXPECT_EQ(quota.used(), 90);
  quota.require_room(folder / "a");

  folder.write("b/two", std::string(10, 'x'));
  quota.measure(folder / "b");
  expect_error(ErrorKind::kIo, "--max-state-mb",
               [&] { quota.require_room(folder / "a"); });

  std::filesystem::remove_all(folder / "a");
  quota.measure(folder / "a");
  EXPECT_EQ(quota.used(), 40);
  quota.require_room(folder / "b");
}

TEST(DiskQuota, NoneIsNeverUsedUp) {
  const TempDir folder;
  folder.write("a/one", "x");
  DiskQuota quota(0);

  quota.measure(folder / "a");

  EXPECT_EQ(quota.used(), 0);
  EXPECT_NO_THROW(quota.require_room(folder / "a"));
}

TEST(DiskQuota, AStoreKnowsWhatLiesThereAndWhatIsGone) {
  const TempDir folder;
  folder.write("streams/m/a/0000000001.safetensors", std::string(50, 'x'));
  const StateStore store(folder.path(), 40);
  StreamFolder other = store.folder("m", "b");
  const StreamState state;

  expect_error(ErrorKind::kIo, "cannot be written", [&] { other.save(state); });
  store.folder("m", "a").remove();
  EXPECT_EQ(other.save(state), 1);
}

TEST(DiskQuota, StreamsBeyondItAreFrozenAndAnswered) {
  testing::SmallService small(testing::small_model(), {}, 1);
  const std::string named = R"("sequence_id":"a")";
  ASSERT_EQ(small.send("PUT", "/v2/models/m/streams/first").status, 200);

  for (int i = 0; i < 3; ++i) {
    const HttpResponse response = small.infer(0, testing::kSmallWindow, named);
    EXPECT_EQ(response.status, 200) << response.body;
  }

  const HttpResponse status = small.send("GET", "/v2/models/m/streams/a");
  EXPECT_NE(status.body.find("--max-state-mb"), std::string::npos)
      << status.body;
  const HttpResponse made =
      small.send("PUT", "/v2/models/m/streams/new", R"({"frozen":true})");
  EXPECT_EQ(made.status, 503);
  EXPECT_NE(made.body.find("not done, as it cannot be saved: new: cannot"),
            std::string::npos)
      << made.body;
  EXPECT_EQ(small.send("GET", "/v2/models/m/streams/new").status, 404);
  const HttpResponse ready = small.send("GET", "/v2/health/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("--max-state-mb"), std::string::npos);
  EXPECT_EQ(ready.body.find("streams/m"), std::string::npos) << ready.body;
}

}  // namespace
}  // namespace sotta
