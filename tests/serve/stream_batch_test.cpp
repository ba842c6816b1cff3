#include "serve/streams/stream_batch.h"

#include <atomic>
#include <thread>

#include "serve/streams/state_store.h"
#include "tests/serve/small_service.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::small_model;
using testing::small_requests;
using testing::TempDir;

// Answers of streams that are used at the same time, by stream and request.
std::vector<std::vector<StreamAnswer>> answers_of(const ModelSettings& settings,
                                                  size_t streams) {
  const TempDir folder;
  const StateStore store(folder.path());
  ServedModel model(settings, store);
  std::vector<std::vector<StreamAnswer>> answers(streams);
  std::vector<std::thread> clients;
  for (size_t i = 0; i < streams; ++i)
    clients.emplace_back([&model, &answers, i] {
      for (const StreamRequest& request : small_requests({1, 3}, 40))
        answers[i].push_back(model.streams()
                                 .infer("s" + std::to_string(i), request)
                                 .result.answer);
    });
  for (std::thread& client : clients)
    client.join();
  return answers;
}

TEST(StreamBatch, OnACpuAnswersAreThoseOfStreamsAlone) {
  for (const std::string method : {"sotta", "screened_sotta"}) {
    ModelSettings alone = small_model();
    alone.method = method;
    ModelSettings batched = alone;
    batched.batch_threads = 2;

    const auto wanted = answers_of(alone, 1);
    const auto found = answers_of(batched, 6);

    for (const auto& stream : found)
      EXPECT_TRUE(stream == wanted[0]) << method;
  }
}

TEST(StreamBatch, OnACpuUpdatesRunAsManyAtATimeAsThereAreThreads) {
  StreamBatch batch(at::kCPU, 2);
  std::atomic<int> inside{0}, most{0}, done{0};

  std::vector<std::thread> streams;
  for (int i = 0; i < 8; ++i)
    streams.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        batch.update([&] {
          const int now = ++inside;
          for (int seen = most; seen < now;)
            most.compare_exchange_weak(seen, now);
          ++done;
          --inside;
        });
    });
  for (std::thread& stream : streams)
    stream.join();

  EXPECT_LE(most, 2);
  EXPECT_EQ(done, 400);
}

TEST(StreamBatch, AnUpdateThatThrowsLeavesItsPlaceToOthers) {
  StreamBatch batch(at::kCPU, 1);
  EXPECT_THROW(batch.update([] { throw std::bad_alloc(); }), std::bad_alloc);

  bool ran = false;
  batch.update([&] { ran = true; });

  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace sotta
