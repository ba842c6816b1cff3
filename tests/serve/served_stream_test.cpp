#include "serve/streams/served_stream.h"

#include <fstream>

#include "data/tensor.h"
#include "serve/request_error.h"
#include "tests/serve/expect_refusal.h"
#include "tests/serve/small_stream.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_refusal;
using testing::expect_same_state;
using testing::kSmallWindow;
using testing::small_adapter;
using testing::small_requests;
using testing::SmallStream;
using testing::TempDir;

std::vector<StreamAnswer> send(ServedStream& stream,
                               const std::vector<StreamRequest>& requests,
                               size_t begin, size_t end) {
  std::vector<StreamAnswer> answers;
  for (size_t i = begin; i < end; ++i) {
    answers.push_back(stream.infer(requests[i]).answer);
    stream.finish();
  }
  return answers;
}

StreamRequest unnumbered(StreamRequest request) {
  request.seq.reset();
  return request;
}

TEST(ServedStream, AnswersAreTheLibrarysBitForBit) {
  const auto requests = small_requests({1, 5, 16, 3, 40}, 96);
  for (const std::string method : {"sotta", "tent", "rotta", "source"}) {
    const TempDir folder;
    const auto stream = SmallStream{folder / "s", method}.open();
    const auto adapter = small_adapter(method);

    for (const StreamRequest& request : requests) {
      const StreamAnswer answer = stream->infer(request).answer;
      const StepResult expected = adapter->step(request.images);

      ASSERT_EQ(answer.logits.size(),
                static_cast<size_t>(expected.logits.numel()));
      const at::Tensor logits = expected.logits.contiguous();
      EXPECT_TRUE(std::equal(answer.logits.begin(), answer.logits.end(),
                             logits.data_ptr<float>()))
          << method << ", request " << *request.seq;
    }
    stream->finish();

    expect_same_state(stream->state().adapter, adapter->snapshot());
    EXPECT_EQ(stream->status().updates, adapter->updates());
  }
}

TEST(ServedStream, TheAnswerComesBeforeTheUpdateThatItsImagesComplete) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto requests = small_requests({kSmallWindow}, 2 * kSmallWindow);

  const InferResult first = stream->infer(requests[0]);
  EXPECT_TRUE(stream->has_work());
  EXPECT_EQ(first.answer.updates, 0);
  EXPECT_EQ(first.durable_seq, 0);

  const InferResult second = stream->infer(requests[1]);
  EXPECT_EQ(second.answer.updates, 1);
  EXPECT_EQ(second.durable_seq, 1);
}

TEST(ServedStream, ARequestThatComesAgainGetsItsAnswerAndIsNotLearntFrom) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto requests = small_requests({4}, 64);
  const auto answers = send(*stream, requests, 0, 10);
  const Snapshot before = stream->state().adapter;

  for (size_t i = 0; i < 10; ++i) {
    const InferResult again = stream->infer(requests[i]);
    EXPECT_TRUE(again.answer == answers[i]) << i;
    EXPECT_EQ(again.next_seq, 10);
  }

  expect_same_state(stream->state().adapter, before);
}

TEST(ServedStream, AGapIsRefusedWithTheNumberOfTheNext) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto requests = small_requests({4}, 64);
  send(*stream, requests, 0, 2);

  try {
    stream->infer(requests[3]);
    FAIL() << "expected a refusal";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), HttpStatus::kConflict);
    EXPECT_EQ(error.next_seq, 2);
  }
  EXPECT_EQ(stream->status().next_seq, 2);
}

TEST(ServedStream, AnAnswerThatIsForgottenIsAConflict) {
  const TempDir folder;
  auto small = SmallStream{folder / "s"};
  StreamState state = small.open()->state();
  state.next_seq = 5000;
  const auto stream = small.open();
  stream->replace_state(state);

  expect_refusal(HttpStatus::kConflict, "expected 5000 or one of the last",
                 [&] { stream->infer(small_requests({1}, 1)[0]); });
}

TEST(ServedStream, RequestsWithoutANumberAreTheNext) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto requests = small_requests({4}, 8);

  EXPECT_EQ(stream->infer(unnumbered(requests[0])).answer.seq, 0);
  EXPECT_EQ(stream->infer(unnumbered(requests[1])).next_seq, 2);
}

// Kills the stream after every number of requests; a client then sends again
// from durable_seq.
void expect_same_after_a_crash_anywhere(bool journal) {
  const auto requests = small_requests({5, 1, 16, 10, 40}, 96);
  const TempDir folder;
  const auto quiet = SmallStream{folder / "quiet", "sotta", journal}.open();
  const auto expected = send(*quiet, requests, 0, requests.size());

  for (size_t crash = 0; crash <= requests.size(); ++crash) {
    const SmallStream small{folder / std::to_string(crash), "sotta", journal};
    send(*small.open(), requests, 0, crash);

    const auto stream = small.open();
    const auto from = static_cast<size_t>(stream->status().durable_seq);
    if (journal) {
      EXPECT_EQ(from, crash);
    }
    const auto answers = send(*stream, requests, from, requests.size());

    for (size_t i = from; i < requests.size(); ++i)
      EXPECT_TRUE(answers[i - from] == expected[i]) << crash << ", " << i;
    for (size_t i = 0; i < from; ++i)  // those kept with the state
      EXPECT_TRUE(stream->infer(requests[i]).answer == expected[i]) << i;
    expect_same_state(stream->state().adapter, quiet->state().adapter);
  }
}

TEST(ServedStream, ACrashAnywhereLosesNothingThatIsSentAgain) {
  expect_same_after_a_crash_anywhere(/*journal=*/false);
}

TEST(ServedStream, WithAJournalACrashAnywhereLosesNothing) {
  expect_same_after_a_crash_anywhere(/*journal=*/true);
}

TEST(ServedStream, ACrashBeforeTheUpdateIsNoDifferentFromOneAfterIt) {
  const auto requests = small_requests({kSmallWindow}, 3 * kSmallWindow);
  for (const bool journal : {false, true}) {
    const TempDir folder;
    const SmallStream small{folder / "s", "sotta", journal};
    const SmallStream other{folder / "quiet", "sotta", journal};
    const auto quiet = other.open();
    send(*quiet, requests, 0, 3);
    {
      const auto stream = small.open();
      send(*stream, requests, 0, 1);
      stream->infer(requests[1]);  // answered; finish() never runs
    }

    const auto stream = small.open();
    EXPECT_EQ(stream->status().durable_seq, journal ? 2 : 1);
    send(*stream, requests, 1, 3);

    expect_same_state(stream->state().adapter, quiet->state().adapter);
  }
}

void damage(const std::filesystem::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-3, std::ios::end);
  const char wrong = '\x5a';
  stream.write(&wrong, 1);
}

TEST(ServedStream, ADamagedSnapshotFallsBackToTheOneBeforeAndSaysSo) {
  const auto requests = small_requests({kSmallWindow}, 4 * kSmallWindow);
  for (const bool journal : {false, true}) {
    const TempDir folder;
    const SmallStream small{folder / "s", "sotta", journal};
    const SmallStream other{folder / "quiet", "sotta", journal};
    const auto quiet = other.open();
    send(*quiet, requests, 0, 4);
    int64_t newest = 0;
    {
      const auto stream = small.open();
      send(*stream, requests, 0, 3);
      newest = stream->status().snapshot;
    }
    damage(folder / ("s/000000000" + std::to_string(newest) + ".safetensors"));

    const auto stream = small.open();

    EXPECT_NE(stream->status().notice.find("is damaged"), std::string::npos);
    EXPECT_EQ(stream->status().durable_seq, journal ? 3 : 2);
    send(*stream, requests, 2, 4);
    expect_same_state(stream->state().adapter, quiet->state().adapter);
  }
}

TEST(ServedStream, ADamagedJournalIsRepeatedUpToTheDamageAndPutAside) {
  const auto requests = small_requests({3}, 15);
  const TempDir folder;
  const SmallStream small{folder / "s", "sotta", /*journal=*/true};
  send(*small.open(), requests, 0, 4);  // the first is in the snapshot
  std::string journal = testing::read_bytes(folder / "s/0000000001.journal");
  journal[journal.size() / 2] ^= 0x10;  // in the second of three records
  folder.write("s/0000000001.journal", journal);

  const auto stream = small.open();

  const StreamStatus status = stream->status();
  EXPECT_EQ(status.durable_seq, 2);
  EXPECT_NE(status.notice.find("0000000001.journal: is damaged"),
            std::string::npos)
      << status.notice;
  EXPECT_TRUE(testing::read_bytes(folder / "s/0000000001.journal.damaged") ==
              journal);
  EXPECT_EQ(small.open()->status().notice, "") << "it is said once";
  const auto quiet = SmallStream{folder / "quiet", "sotta", true}.open();
  send(*quiet, requests, 0, 5);
  send(*stream, requests, 2, 5);
  expect_same_state(stream->state().adapter, quiet->state().adapter);
}

// The stream's next snapshot takes the place of its only one, as nothing more
// was learnt, and journals from before it go.
TEST(ServedStream, AJournalThatIsDamagedFromItsBeginningOnIsPutAside) {
  for (const bool learns : {true, false}) {
    const TempDir folder;
    const SmallStream small{folder / "s", "sotta", /*journal=*/true};
    auto requests = small_requests({3}, 9);
    for (StreamRequest& request : requests)
      request.adapt = learns;
    send(*small.open(), requests, 0, 1);
    folder.write("s/0000000001.journal", std::string(300, '\0'));

    const auto stream = small.open();

    const StreamStatus status = stream->status();
    EXPECT_EQ(status.durable_seq, 1);
    EXPECT_NE(status.notice.find("0000000001.journal: is damaged"),
              std::string::npos)
        << status.notice;
    EXPECT_EQ(small.open()->status().notice, "") << "it is said once";
    send(*stream, requests, 1, 3);
  }
}

TEST(ServedStream, AFrozenStreamAnswersCountsAndLearnsNothing) {
  const TempDir folder;
  const SmallStream small{folder / "s"};
  const auto requests = small_requests({kSmallWindow}, 4 * kSmallWindow);
  {
    const auto stream = small.open();
    send(*stream, requests, 0, 1);
    stream->set_frozen(true);
  }
  const auto stream = small.open();
  const Snapshot before = stream->state().adapter;

  const InferResult frozen = stream->infer(requests[1]);
  stream->finish();

  EXPECT_EQ(frozen.frozen, "by request");
  EXPECT_EQ(frozen.answer.verdicts[0], Verdict::kNotScreened);
  EXPECT_EQ(frozen.next_seq, 2);
  EXPECT_EQ(stream->status().durable_seq, 2) << "saved by number of images";
  expect_same_state(stream->state().adapter, before);

  stream->set_frozen(false);
  send(*stream, requests, 2, 3);
  EXPECT_EQ(stream->status().updates, 2);
  EXPECT_EQ(stream->status().frozen, "");
}

TEST(ServedStream, ARequestMayAskNotToBeLearntFrom) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  auto request = small_requests({4}, 4)[0];
  request.adapt = false;

  const InferResult result = stream->infer(request);

  EXPECT_EQ(result.next_seq, 1);
  EXPECT_EQ(stream->status().images, 0);
  EXPECT_EQ(result.answer.logits, SmallStream{folder / "other"}
                                      .open()
                                      ->infer(small_requests({4}, 4)[0])
                                      .answer.logits);
}

TEST(ServedStream, ResetGoesBackToTheSourceAndCountsOn) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const Snapshot source = stream->state().adapter;
  const auto requests = small_requests({kSmallWindow}, 3 * kSmallWindow);
  send(*stream, requests, 0, 2);

  stream->reset();

  expect_same_state(stream->state().adapter, source);
  EXPECT_EQ(stream->status().next_seq, 2);
  EXPECT_EQ(stream->status().durable_seq, 2);
}

TEST(ServedStream, ARequestMayResetFirst) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto fresh = SmallStream{folder / "fresh"}.open();
  auto requests = small_requests({kSmallWindow}, 3 * kSmallWindow);
  requests[2].reset = true;
  send(*stream, requests, 0, 3);

  fresh->infer(unnumbered(requests[2]));
  fresh->finish();

  expect_same_state(stream->state().adapter, fresh->state().adapter);
  EXPECT_EQ(stream->status().next_seq, 3);
}

TEST(ServedStream, RollsBackToASnapshotThatWasKept) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto requests = small_requests({kSmallWindow}, 6 * kSmallWindow);
  send(*stream, requests, 0, 1);
  const int64_t number = stream->keep_snapshot();
  const Snapshot wanted = stream->state().adapter;
  send(*stream, requests, 1, 6);

  stream->roll_back(number);

  expect_same_state(stream->state().adapter, wanted);
  EXPECT_EQ(stream->status().next_seq, 6);
  testing::expect_error(ErrorKind::kNotFound, "none of number 99",
                        [&] { stream->roll_back(99); });
}

TEST(ServedStream, AStateOfAnotherIdentityIsAConflict) {
  const TempDir folder;
  send(*SmallStream{folder / "s", "tent"}.open(),
       small_requests({kSmallWindow}, kSmallWindow), 0, 1);
  SmallStream other{folder / "s", "sotta"};

  expect_refusal(HttpStatus::kConflict, "another model, method or options",
                 [&] { other.open(); });
}

TEST(ServedStream, AStateMovesToAnotherStream) {
  const TempDir folder;
  const auto requests = small_requests({10}, 80);
  const auto one = SmallStream{folder / "one"}.open();
  const auto two = SmallStream{folder / "two"}.open();
  const auto first = send(*one, requests, 0, 5);

  two->replace_state(one->state());

  EXPECT_EQ(two->status().durable_seq, 5);
  EXPECT_TRUE(two->infer(requests[4]).answer == first[4]);
  EXPECT_TRUE(send(*two, requests, 5, 8) == send(*one, requests, 5, 8));
}

TEST(ServedStream, WhileTheDiskRefusesRequestsAreAnsweredAndNotCounted) {
  for (const bool journal : {false, true}) {
    const TempDir folder;
    const SmallStream small{folder / "store/s", "sotta", journal};
    const auto requests = small_requests({kSmallWindow}, 4 * kSmallWindow);
    const auto quiet = SmallStream{folder / "quiet", "sotta", journal}.open();
    send(*quiet, requests, 0, 4);
    folder.write("store", "a file where the folder should be");
    const auto stream = small.open();

    stream->infer(requests[0]);
    stream->finish();
    const InferResult second = stream->infer(requests[1]);
    const InferResult third = stream->infer(requests[2]);

    EXPECT_EQ(second.next_seq, 1);
    EXPECT_EQ(third.next_seq, 1);
    EXPECT_EQ(third.durable_seq, 0);
    EXPECT_NE(third.frozen.find("store"), std::string::npos) << third.frozen;
    EXPECT_EQ(third.answer.verdicts[0], Verdict::kNotScreened);
    EXPECT_FALSE(stream->save_all());
    expect_refusal(HttpStatus::kUnavailable, "not saved",
                   [&] { stream->keep_snapshot(); });

    std::filesystem::remove(folder / "store");
    send(*stream, requests, 1, 4);

    EXPECT_EQ(stream->status().frozen, "");
    EXPECT_EQ(stream->status().durable_seq, 4);
    expect_same_state(stream->state().adapter, quiet->state().adapter);
  }
}

TEST(ServedStream, ImagesOfAnotherSizeAreRefusedAndNotCounted) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  auto requests = small_requests({4}, 12);
  send(*stream, requests, 0, 2);
  requests[2].images = requests[2].images.slice(3, 0, 5).contiguous();

  expect_refusal(HttpStatus::kBadRequest, "pixels as before in this stream",
                 [&] { stream->infer(requests[2]); });
  EXPECT_EQ(stream->status().next_seq, 2);
}

TEST(ServedStream, TheNextAnswerSaysWhatAGuardDid) {
  const TempDir folder;
  SmallStream small{folder / "s"};
  small.guard.action = "skip";
  small.guard.max_parameter_change = 1e-9;
  const auto requests = small_requests({kSmallWindow}, 3 * kSmallWindow);
  send(*small.open(), requests, 0, 1);

  const auto stream = small.open();
  const InferResult after = stream->infer(requests[1]);

  EXPECT_NE(after.answer.guard, "");
  EXPECT_EQ(stream->status().guard_trips, 1);
}

TEST(ServedStream, NormIsTheAdaptedNetworks) {
  const TempDir folder;
  const auto stream = SmallStream{folder / "s"}.open();
  const auto adapter = small_adapter("sotta");
  const auto requests = small_requests({kSmallWindow}, 2 * kSmallWindow);
  send(*stream, requests, 0, 2);
  for (const StreamRequest& request : requests)
    adapter->step(request.images);

  const TensorFile norm = stream->norm();

  const auto expected =
      named_norm_tensors(adapter->state(), adapter->model().norm_layers());
  ASSERT_EQ(norm.tensors.size(), expected.size());
  for (const auto& [name, tensor] : expected)
    EXPECT_TRUE(to_tensor(norm.tensors.at(name)).equal(tensor)) << name;
}

}  // namespace
}  // namespace sotta
