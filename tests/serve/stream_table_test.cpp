#include "serve/streams/stream_table.h"

#include <new>
#include <thread>

#include "sotta/core/error.h"

#include "serve/request_error.h"
#include "serve/streams/state_store.h"
#include "tests/adapt/scripted_method.h"
#include "tests/serve/expect_refusal.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::expect_refusal;
using testing::expect_same_state;
using testing::small_adapter;
using testing::small_requests;
using testing::TempDir;

std::unique_ptr<ServedStream> open_small(
    std::unique_ptr<StreamStorage> storage) {
  ServedStreamOptions options;
  options.identity = "small";
  return std::make_unique<ServedStream>(small_adapter("sotta"),
                                        std::move(storage), options);
}

StreamTable small_table(const StateStore& store,
                        const TableOptions& options = {}) {
  return StreamTable(store, "m", open_small, options);
}

void touch(StreamTable& table, const std::string& name) {
  table.use(name, true, [](ServedStream&) {});
}

std::vector<std::string> resident_names(const StreamTable& table) {
  std::vector<std::string> names;
  for (const auto& listed : table.list("", 100))
    if (listed.resident) names.push_back(listed.name);
  return names;
}

TEST(StreamTable, TheLeastRecentlyUsedGoToDisk) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store, {10, 2});

  for (const std::string name : {"a", "b", "a", "c"})
    touch(table, name);

  EXPECT_EQ(resident_names(table), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.resident(), 2u);
}

// An update for which there was no memory: the stream is nobody's afterwards,
// and the next request does not wait for ever.
TEST(StreamTable, WorkThatThrowsLeavesTheStreamToOthers) {
  const TempDir folder;
  const StateStore store(folder.path());
  const auto open = [](std::unique_ptr<StreamStorage> storage) {
    MethodContext context;
    context.model = testing::golden_network();
    context.update_interval = testing::kSmallWindow;
    auto method = std::make_unique<testing::ScriptedMethod>();
    method->script = [](UpdateReport&, int64_t) { throw std::bad_alloc(); };
    ServedStreamOptions options;
    options.identity = "small";
    return std::make_unique<ServedStream>(
        std::make_unique<Adapter>("scripted", std::move(method), context),
        std::move(storage), options);
  };
  StreamTable table(store, "m", open, {10, 2});
  table.use("a", true, [](ServedStream& stream) {
    stream.infer(small_requests({testing::kSmallWindow}, 16).at(0));
    EXPECT_TRUE(stream.has_work());
  });

  table.finish("a");

  bool used = false;
  table.use("a", false, [&](ServedStream&) { used = true; });
  EXPECT_TRUE(used);
}

TEST(StreamTable, StreamsThatTakeTurnsInMemoryGoOnBitForBit) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable crowded = small_table(store, {10, 1});
  const auto requests = small_requests({5, 9}, 70);
  const std::vector<std::string> names = {"a", "b", "c"};

  for (const StreamRequest& request : requests)
    for (const std::string& name : names)
      crowded.use(name, true,
                  [&](ServedStream& stream) { stream.infer(request); });

  const auto alone =
      open_small(std::make_unique<StreamFolder>(folder / "alone"));
  for (const StreamRequest& request : requests)
    alone->infer(request);
  for (const std::string& name : names)
    crowded.use(name, false, [&](ServedStream& stream) {
      expect_same_state(stream.state().adapter, alone->state().adapter);
    });
}

TEST(StreamTable, KnowsTheStreamsOfAnEarlierProcess) {
  const TempDir folder;
  const StateStore store(folder.path());
  {
    StreamTable table = small_table(store);
    table.use("a", true, [](ServedStream& stream) { stream.set_frozen(true); });
  }
  StreamTable table = small_table(store);

  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.resident(), 0u);
  table.use("a", false, [](ServedStream& stream) {
    EXPECT_EQ(stream.status().frozen, "by request");
  });
}

TEST(StreamTable, SaysWhereStreamsOfAnEarlierProcessStandBeforeTheyAreUsed) {
  const TempDir folder;
  const StateStore store(folder.path());
  const auto requests = small_requests({testing::kSmallWindow, 5}, 21);
  StreamStatus before;
  {
    StreamTable table = small_table(store);
    for (const StreamRequest& request : requests)
      table.infer("a", request);
    table.use("a", false, [&](ServedStream& stream) {
      stream.set_frozen(true);
      before = stream.status();
    });
  }
  StreamTable table = small_table(store);

  const StreamStatus status = table.list("", 1).at(0).status;

  EXPECT_EQ(status.next_seq, 2);
  EXPECT_EQ(status.durable_seq, 2);
  EXPECT_EQ(status.images, before.images);
  EXPECT_EQ(status.updates, 1);
  EXPECT_EQ(status.pending, 5);
  EXPECT_EQ(status.snapshot, before.snapshot);
  EXPECT_EQ(status.frozen, before.frozen);
  EXPECT_EQ(table.census().frozen, 1);
  EXPECT_EQ(table.resident(), 0u);
  EXPECT_GT(before.live.distance, 0);
  table.use("a", false, [&](ServedStream& stream) {
    EXPECT_EQ(stream.status().live.distance, before.live.distance);
  });
}

TEST(StreamTable, AnUnknownStreamIsNotFoundUnlessItMayBeMade) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);

  expect_refusal(HttpStatus::kNotFound, "none of this name",
                 [&] { table.use("a", false, [](ServedStream&) {}); });
  expect_refusal(HttpStatus::kNotFound, "none of this name",
                 [&] { table.remove("a"); });
  EXPECT_EQ(table.size(), 0u);
}

TEST(StreamTable, AStreamWhoseFirstRequestIsRefusedIsNotKnown) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  const auto requests = small_requests({1}, 3);

  expect_refusal(HttpStatus::kConflict, "expected 0, got 2", [&] {
    table.use("a", true,
              [&](ServedStream& stream) { stream.infer(requests[2]); });
  });

  EXPECT_EQ(table.size(), 0u);
}

TEST(StreamTable, ARequestBeginsWhenTheWorkBeforeItIsDone) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  const auto requests = small_requests({testing::kSmallWindow, 4}, 20);
  table.infer("a", requests[0]);  // its update is due

  EXPECT_THROW(
      table.infer("a", requests[1], nullptr, [] { throw std::bad_alloc(); }),
      std::bad_alloc);

  const StreamStatus refused = table.list("", 1).at(0).status;
  EXPECT_EQ(refused.updates, 1);
  EXPECT_EQ(refused.next_seq, 1);
  EXPECT_EQ(table.infer("a", requests[1]).result.next_seq, 2);
}

TEST(StreamTable, TooManyStreamsAreRefused) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store, {2, 2});
  touch(table, "a");
  touch(table, "b");

  expect_refusal(HttpStatus::kTooMany, "expected at most 2",
                 [&] { touch(table, "c"); });
  touch(table, "a");
  EXPECT_EQ(table.size(), 2u);
}

TEST(StreamTable, AStreamThatIsRemovedBeginsAnew) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  table.use("a", true, [](ServedStream& stream) { stream.set_frozen(true); });

  table.remove("a");

  EXPECT_EQ(table.size(), 0u);
  EXPECT_TRUE(store.streams("m").empty());
  table.use("a", true, [](ServedStream& stream) {
    EXPECT_EQ(stream.status().frozen, "");
  });
}

TEST(StreamTable, AParkedStreamIsOnDiskAlone) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  const auto requests = small_requests({5}, 10);
  table.use("a", true,
            [&](ServedStream& stream) { stream.infer(requests[0]); });

  table.park("a");

  EXPECT_EQ(table.resident(), 0u);
  EXPECT_EQ(table.list("", 1)[0].status.next_seq, 1);
  table.use("a", false, [](ServedStream& stream) {
    EXPECT_EQ(stream.status().durable_seq, 1);
  });
}

TEST(StreamTable, ListsInPages) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  for (const std::string name : {"b", "a", "c"})
    touch(table, name);

  const auto first = table.list("", 2);
  const auto rest = table.list(first.back().name, 2);

  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].name, "a");
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].name, "c");
}

TEST(StreamTable, SavesAllAndCountsWhatTheDiskRefused) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  const auto requests = small_requests({5}, 10);
  for (const std::string name : {"a", "b"})
    table.use(name, true,
              [&](ServedStream& stream) { stream.infer(requests[0]); });
  EXPECT_EQ(table.save_all(), 0u);
  EXPECT_EQ(store.streams("m").size(), 2u);

  for (const std::string name : {"a", "b"})
    table.use(name, true,
              [&](ServedStream& stream) { stream.infer(requests[1]); });
  std::filesystem::remove_all(folder / "streams/m/a");
  folder.write("streams/m/a", "a file where the folder should be");

  EXPECT_EQ(table.save_all(), 1u);
  EXPECT_NE(table.storage_problem(), "");
}

TEST(StreamTable, FinishesTheWorkOfStreamsInMemoryAlone) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  const auto requests = small_requests({testing::kSmallWindow}, 16);
  table.use("a", true,
            [&](ServedStream& stream) { stream.infer(requests[0]); });

  table.finish("a");
  table.finish("unknown");

  EXPECT_EQ(table.list("", 1)[0].status.updates, 1);
  EXPECT_EQ(table.storage_problem(), "");
  table.park("a");
  table.finish("a");
  EXPECT_EQ(table.resident(), 0u);
}

TEST(StreamTable, AStreamThatCannotBeOpenedIsOneThatCanBeTriedAgain) {
  const TempDir folder;
  const StateStore store(folder.path());
  folder.write("streams/m/a/0000000001.safetensors", "damaged");
  StreamTable table = small_table(store);

  EXPECT_NE(table.list("", 1).at(0).status.unloadable, "");
  EXPECT_EQ(table.census().in_trouble, 1);
  EXPECT_THROW(touch(table, "a"), Error);
  EXPECT_THROW(touch(table, "a"), Error);
  EXPECT_EQ(table.resident(), 0u);
}

TEST(StreamTable, AStreamOfAnotherMethodIsInTroubleOnceSomebodyAsksForIt) {
  const TempDir folder;
  const StateStore store(folder.path());
  {
    StreamTable table = small_table(store);
    table.infer("a", small_requests({4}, 4)[0]);
    table.save_all();
  }
  StreamTable table(store, "m",
                    [](std::unique_ptr<StreamStorage> storage) {
                      ServedStreamOptions options;
                      options.identity = "another";
                      return std::make_unique<ServedStream>(
                          small_adapter("sotta"), std::move(storage), options);
                    },
                    {});

  expect_refusal(HttpStatus::kConflict, "another model",
                 [&] { touch(table, "a"); });

  EXPECT_NE(table.list("", 1).at(0).status.unloadable.find("another model"),
            std::string::npos);
  EXPECT_EQ(table.census().in_trouble, 1);
}

TEST(StreamTable, AStreamThatCannotBeLoadedCanBeReplaced) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  const auto requests = small_requests({4}, 8);
  table.infer("other", requests[0]);
  StreamState state;
  table.use("other", false,
            [&](ServedStream& stream) { state = stream.state(); });
  touch(table, "a");
  table.use("a", false, [](ServedStream& stream) { stream.keep_snapshot(); });
  table.park("a");
  const auto file = folder / "streams/m/a/0000000001-kept.safetensors";
  std::string bytes = testing::read_bytes(file);
  bytes[bytes.size() - 3] ^= 1;  // where no header is
  folder.write("streams/m/a/0000000001-kept.safetensors", bytes);

  EXPECT_THROW(touch(table, "a"), Error);
  EXPECT_NE(table.list("", 1).at(0).status.unloadable.find("is damaged"),
            std::string::npos);

  StreamState foreign = state;
  foreign.identity = "another";
  const auto put = [](const StreamState& given) {
    return [&given](ServedStream& stream) { stream.replace_state(given); };
  };
  expect_refusal(HttpStatus::kConflict, "another model",
                 [&] { table.replace("a", put(foreign)); });
  EXPECT_EQ(testing::read_bytes(file), bytes);
  EXPECT_THROW(touch(table, "a"), Error) << "it is no new stream";

  table.replace("a", put(state));
  EXPECT_EQ(table.list("", 1).at(0).status.unloadable, "");
  EXPECT_EQ(small_table(store).list("", 1).at(0).status.next_seq, 1);
}

TEST(StreamTable, WhereStreamsInMemoryCannotBeSavedItSaysThatTheDiskRefuses) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store, {10, 1});
  folder.write("streams/m/a", "a file where the folder should be");
  table.infer("a", small_requests({4}, 4)[0]);

  expect_refusal(HttpStatus::kUnavailable, "the disk refuses",
                 [&] { touch(table, "b"); });
}

TEST(StreamTable, StreamsThatTheDiskRefusedTakeTurnsToBeTriedAgain) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  folder.write("streams/m", "a file where the folder should be");
  for (const std::string name : {"a", "b", "c"})
    table.infer(name, small_requests({4}, 4)[0]);
  EXPECT_TRUE(table.next_unsaved(2).empty()) << "nobody has tried";
  EXPECT_EQ(table.save_all(), 3u);

  using Names = std::vector<std::string>;
  EXPECT_EQ(table.next_unsaved(2), (Names{"a", "b"}));
  EXPECT_EQ(table.next_unsaved(2), (Names{"c", "a"}));

  std::filesystem::remove(folder / "streams/m");
  table.finish("b");
  EXPECT_EQ(table.next_unsaved(5), (Names{"c", "a"}));
  EXPECT_EQ(store.streams("m"), Names{"b"});
}

TEST(StreamTable, ManyThreadsUseManyStreams) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store, {10, 3});
  const auto request = small_requests({1}, 1)[0];
  std::vector<std::thread> threads;

  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      for (int turn = 0; turn < 8; ++turn)
        table.use(std::to_string((turn + thread) % 4), true,
                  [&](ServedStream& stream) {
                    StreamRequest next = request;
                    next.seq.reset();
                    stream.infer(next);
                  });
    });
  for (std::thread& thread : threads)
    thread.join();

  int64_t requests = 0;
  for (const auto& listed : table.list("", 10))
    requests += listed.status.next_seq;
  EXPECT_EQ(requests, 24);
  EXPECT_LE(table.resident(), 3u);
}

TEST(StreamTable, StreamsInTroubleComeFirstAndPagesFollowEachOther) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  for (const std::string name : {"cam-1", "cam-2", "cam-3", "other"})
    touch(table, name);
  table.use("cam-3", false,
            [](ServedStream& stream) { stream.set_frozen(true); });

  const auto is_camera = [](const std::string& name) {
    return name.rfind("cam", 0) == 0;
  };

  const auto first = table.list_by_trouble(0, 2, is_camera);
  const auto second = table.list_by_trouble(2, 2, is_camera);

  EXPECT_EQ(first.total, 3u);
  ASSERT_EQ(first.streams.size(), 2u);
  EXPECT_EQ(first.streams[0].name, "cam-3");
  EXPECT_EQ(first.streams[1].name, "cam-1");
  ASSERT_EQ(second.streams.size(), 1u);
  EXPECT_EQ(second.streams[0].name, "cam-2");
  EXPECT_TRUE(table.list_by_trouble(99, 2, is_camera).streams.empty());
  EXPECT_EQ(table.census().frozen, 1);
  EXPECT_EQ(table.census().in_trouble, 1);
}

TEST(StreamTable, FiguresComeBackWithAStreamFromDisk) {
  const TempDir folder;
  const StateStore store(folder.path());
  StreamTable table = small_table(store);
  const auto requests = small_requests({testing::kSmallWindow}, 32);
  for (const StreamRequest& request : requests)
    table.use("a", true, [&](ServedStream& stream) { stream.infer(request); });

  ASSERT_TRUE(table.park("a"));

  table.use("a", false, [](ServedStream& stream) {
    EXPECT_EQ(stream.watch().figures().windows().size(), 2u);
  });
}

}  // namespace
}  // namespace sotta
