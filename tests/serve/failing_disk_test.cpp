#include <cerrno>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "serve/streams/served_stream.h"
#include "serve/streams/state_store.h"
#include "tests/serve/small_stream.h"
#include "tests/support/noted_syncs.h"

// Counted with the others.
extern "C" int fdatasync(int descriptor) {
  return ::fsync(descriptor);
}

namespace sotta {
namespace {

using testing::expect_same_state;
using testing::failing_sync;
using testing::small_requests;
using testing::SmallStream;
using testing::synced;
using testing::TempDir;

// A client that minds next_seq: what was answered and not counted comes again.
void send_all(ServedStream& stream, const std::vector<StreamRequest>& requests,
              size_t from) {
  for (size_t tries = 0; from < requests.size() && tries < 100; ++tries) {
    from = static_cast<size_t>(stream.infer(requests[from]).next_seq);
    stream.finish();
  }
  EXPECT_EQ(from, requests.size());
}

// Lets the disk fail once, at every sync there is, with a crash at the end.
void expect_nothing_lost(bool journal) {
  const TempDir folder;
  const auto requests = small_requests({7, 16, 3}, 60);
  const auto quiet = SmallStream{folder / "quiet", "sotta", journal}.open();
  synced.clear();
  failing_sync = 0;
  send_all(*quiet, requests, 0);
  const int syncs = static_cast<int>(synced.size());
  ASSERT_GT(syncs, 4);

  for (int failing = 1; failing <= syncs; ++failing) {
    const SmallStream small{folder / std::to_string(failing), "sotta", journal};
    synced.clear();
    failing_sync = failing;
    {
      const auto stream = small.open();
      send_all(*stream, requests, 0);
      expect_same_state(stream->state().adapter, quiet->state().adapter);
      EXPECT_TRUE(stream->save_all());  // the last sync may have been the one
      EXPECT_EQ(stream->status().problem, "") << failing;
    }
    failing_sync = 0;

    const auto again = small.open();
    const auto durable = static_cast<size_t>(again->status().durable_seq);
    EXPECT_EQ(durable, requests.size()) << failing;
    expect_same_state(again->state().adapter, quiet->state().adapter);
  }
}

TEST(FailingDisk, LosesNothingWhereEveryUpdateIsSaved) {
  expect_nothing_lost(/*journal=*/false);
}

TEST(FailingDisk, LosesNothingWhereEveryRequestIsJournalled) {
  expect_nothing_lost(/*journal=*/true);
}

TEST(FailingDisk, NewFoldersReachItWithTheirStream) {
  const TempDir folder;
  StreamFolder stream(folder / "model/stream");
  synced.clear();
  failing_sync = 1;
  EXPECT_THROW(stream.save(StreamState()), Error);
  failing_sync = 0;
  synced.clear();

  stream.save(StreamState());

  // The names of the model's folder, of the stream's and of the snapshot.
  EXPECT_EQ(synced,
            (std::vector<std::string>{"folder", "folder", "file", "folder"}));
}

TEST(FailingDisk, AStreamIsRemovedAsAWholeOrNotAtAll) {
  const TempDir folder;
  StreamFolder stream(folder / "model/stream");
  stream.save(StreamState());
  synced.clear();
  failing_sync = 1;

  EXPECT_THROW(stream.remove(), Error);
  EXPECT_TRUE(stream.load().has_value());

  failing_sync = 0;
  stream.remove();
  EXPECT_TRUE(std::filesystem::is_empty(folder / "model"));
}

}  // namespace
}  // namespace sotta
