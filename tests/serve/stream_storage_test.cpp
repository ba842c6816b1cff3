#include "serve/streams/stream_storage.h"

#include "serve/streams/served_stream.h"
#include "tests/serve/small_stream.h"

namespace sotta {
namespace {

using testing::kSmallWindow;
using testing::small_requests;
using testing::TempDir;

// Another server has gone on from what this one has.
struct TakenOver : StreamFolder {
  using StreamFolder::StreamFolder;
  int64_t save(const StreamState&, bool) override { throw StreamElsewhere(); }
};

TEST(StreamStorage, AStreamThatAnotherServerHasTakenOverIsNotAnsweredHere) {
  const TempDir folder;
  const auto requests = small_requests({kSmallWindow, 3}, kSmallWindow + 3);
  for (const bool journal : {false, true}) {
    ServedStreamOptions options;
    options.journal = journal;
    ServedStream stream(testing::small_adapter("sotta"),
                        std::make_unique<TakenOver>(folder / "s"), options);

    if (!journal) stream.infer(requests[0]);  // its update is to be saved
    EXPECT_THROW(stream.infer(requests[journal ? 0 : 1]), StreamElsewhere);
  }
}

}  // namespace
}  // namespace sotta
