#include "serve/streams/state_store.h"

#include <algorithm>
#include <filesystem>

#include <ATen/ops/full.h>
#include <unistd.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

StreamState state_of(int64_t next_seq) {
  StreamState state;
  state.identity = "test";
  state.adapter.method = "none";
  state.adapter.tensors["value"] = at::full({3}, next_seq);
  state.next_seq = next_seq;
  return state;
}

std::vector<int64_t> numbers(const StreamFolder& folder) {
  std::vector<int64_t> found;
  for (const SnapshotEntry& entry : folder.snapshots())
    found.push_back(entry.number);
  return found;
}

TEST(EscapeName, LeavesNothingThatMeansSomethingInAPath) {
  EXPECT_EQ(escape_name("camera-7_B"), "camera-7_B");
  EXPECT_EQ(escape_name("."), "%2E");
  EXPECT_EQ(escape_name(".."), "%2E%2E");
  EXPECT_EQ(escape_name("../../etc/passwd"), "%2E%2E%2F%2E%2E%2Fetc%2Fpasswd");
  EXPECT_EQ(escape_name("a%2Fb"), "a%252Fb");
  EXPECT_EQ(escape_name("\xc3\xa4"), "%C3%A4");
}

TEST(EscapeName, ComesBackAndNothingElseDoes) {
  std::string every;
  for (int code = 1; code < 256; ++code)
    every.push_back(static_cast<char>(code));

  EXPECT_EQ(unescape_name(escape_name(every)), every);
  for (const std::string wrong :
       {"", "%", "%4", "%4g", "%41", "%2e", "a.b", "a b", ".partial-1", "%2"})
    EXPECT_FALSE(unescape_name(wrong).has_value()) << wrong;
}

TEST(StreamFolder, CountsFromNoNumberThatCannotHaveComeAbout) {
  const TempDir root;
  StreamFolder folder(root / "s");
  folder.save(state_of(10));
  root.write("s/9223372036854775807.safetensors", "x");
  root.write("s/9223372036854775807.damaged", "x");

  EXPECT_EQ(folder.save(state_of(20)), 2);
  EXPECT_EQ(folder.load()->state.next_seq, 20);
}

// Of the first process of this machine, which lives, and of one of the number
// of this one, as in a container; of names that come again and that do not.
TEST(StreamFolder, LoadingRemovesWhatCrashesHaveLeftOfSnapshots) {
  const TempDir root;
  StreamFolder folder(root / "s");
  folder.save(state_of(10));
  const std::string own = std::to_string(::getpid());
  root.write("s/0000000002.safetensors.partial-1-0", "x");
  root.write("s/0000000002-kept.safetensors.partial-" + own + "-0", "x");

  EXPECT_EQ(folder.load()->state.next_seq, 10);

  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root / "s"), {}),
            1);
}

TEST(StreamFolder, KeepsTheNewestTwo) {
  const TempDir root;
  StreamFolder folder(root / "s");
  EXPECT_FALSE(folder.load().has_value());

  for (int64_t seq = 1; seq <= 4; ++seq)
    EXPECT_EQ(folder.save(state_of(10 * seq)), seq);

  EXPECT_EQ(numbers(folder), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(folder.load()->state.next_seq, 40);
  EXPECT_EQ(folder.read(3).next_seq, 30);
  expect_error(ErrorKind::kNotFound, "none of number 2",
               [&] { folder.read(2); });
}

TEST(StreamFolder, KeepsWhatWasAskedForUpToALimit) {
  const TempDir root;
  StreamFolder folder(root / "s");

  for (int64_t seq = 1; seq <= 20; ++seq)
    folder.save(state_of(seq), /*keep=*/true);
  folder.save(state_of(21));
  folder.save(state_of(22));

  const auto left = numbers(folder);
  EXPECT_EQ(left.size(), SnapshotRetention().kept + 2);
  EXPECT_EQ(left.front(), 5);
  EXPECT_EQ(folder.load()->number, 22);
}

TEST(StreamFolder, AStateThatIsSavedAgainPushesNoOtherOut) {
  const TempDir root;
  StreamFolder folder(root / "s");
  folder.save(state_of(1));
  folder.save(state_of(2));

  StreamState same = state_of(2);
  for (int turn = 0; turn < 3; ++turn) {
    same.frozen = !same.frozen;
    ++same.next_seq;
    folder.save(same);
  }
  EXPECT_EQ(numbers(folder), (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(folder.load()->state.next_seq, 5);

  folder.save(same, /*keep=*/true);
  folder.save(same);
  EXPECT_EQ(numbers(folder), (std::vector<int64_t>{1, 6, 7}));
}

TEST(StreamFolder, KeepsSomeOlderOnesApartInTime) {
  const TempDir root;
  StreamFolder folder(root / "s");

  for (int64_t seq = 1; seq <= 60; ++seq)
    folder.save(state_of(seq));

  EXPECT_EQ(numbers(folder), (std::vector<int64_t>{32, 48, 59, 60}));
}

TEST(StreamFolder, KeepsTheLastTwoThatWereLeft) {
  const TempDir root;
  StreamFolder folder(root / "s");

  for (int64_t seq = 1; seq <= 9; ++seq) {
    folder.save(state_of(seq));
    if (seq <= 3) folder.retain(seq);
  }

  EXPECT_EQ(numbers(folder), (std::vector<int64_t>{2, 3, 8, 9}));
  EXPECT_EQ(folder.read(3).next_seq, 3);
}

TEST(StreamFolder, SaysWhatItKnowsOfEachSnapshot) {
  const TempDir root;
  StreamFolder folder(root / "s");
  folder.save(state_of(1));
  StreamState state = state_of(2);
  state.progress = StreamProgress{128, 2, 0};
  folder.save(state);
  root.write("s/0000000001.safetensors", "damaged");

  const auto described = folder.describe_snapshots();

  ASSERT_EQ(described.size(), 2u);
  EXPECT_FALSE(described[0].next_seq.has_value());
  EXPECT_EQ(described[1].next_seq, 2);
  EXPECT_EQ(described[1].updates, 2);
  EXPECT_GT(described[1].saved_ms.value_or(0), 0);
}

// A state with so many answers that they have a file of their own.
StreamState state_with_answers(int64_t next_seq) {
  StreamState state = state_of(next_seq);
  for (int64_t seq = 0; seq < next_seq; ++seq) {
    StreamAnswer answer;
    answer.seq = seq;
    answer.classes = 1;
    answer.logits.assign(100, static_cast<float>(seq));
    answer.labels.assign(100, 0);
    answer.confidences.assign(100, 1);
    answer.verdicts.assign(100, Verdict::kAdmitted);
    state.answers.add(answer);
  }
  return state;
}

std::vector<std::string> answer_files(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".answers")
      names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(StreamFolder, ManyAnswersAreAppendedToAFileAndComeBackWithTheSnapshot) {
  const TempDir root;
  StreamFolder folder(root / "s");
  StreamState state = state_with_answers(20);
  folder.save(state);
  const StreamState more = state_with_answers(21);
  state.answers.add(*more.answers.find(20));
  state.next_seq = 21;
  folder.save(state);

  EXPECT_EQ(answer_files(root / "s"),
            std::vector<std::string>{"0000000001.answers"});
  EXPECT_LT(std::filesystem::file_size(root / "s/0000000002.safetensors"),
            StreamFolder::kMostAnswersInSnapshot);
  const auto loaded = StreamFolder(root / "s").load();
  EXPECT_TRUE(loaded->damaged.empty());
  EXPECT_EQ(loaded->state.answers.pack(), state.answers.pack());
}

TEST(StreamFolder, TheSnapshotBeforeFindsItsOwnAnswers) {
  const TempDir root;
  for (const int64_t seq : {20, 21, 22, 23})  // as after four restarts
    StreamFolder(root / "s").save(state_with_answers(seq));
  root.write("s/0000000004.safetensors", "damaged");

  const auto loaded = StreamFolder(root / "s").load();

  EXPECT_EQ(
      answer_files(root / "s"),
      (std::vector<std::string>{"0000000003.answers", "0000000004.answers"}));
  EXPECT_EQ(loaded->state.next_seq, 22);
  EXPECT_EQ(loaded->state.answers.pack(),
            state_with_answers(22).answers.pack());
}

TEST(StreamFolder, AnswersThatAreDamagedAreSaidToBe) {
  const TempDir root;
  StreamFolder(root / "s").save(state_with_answers(20));
  root.write("s/0000000001.answers", "damaged");

  const auto loaded = StreamFolder(root / "s").load();

  EXPECT_EQ(loaded->state.next_seq, 20);
  EXPECT_EQ(loaded->state.answers.size(), 0u);
  ASSERT_EQ(loaded->damaged.size(), 1u);
  EXPECT_NE(loaded->damaged[0].find("answers are lost"), std::string::npos);
}

TEST(StreamFolder, ASnapshotCutAnywhereIsPutAsideForTheOneBefore) {
  const TempDir root;
  StreamFolder folder(root / "s");
  folder.save(state_of(1));
  folder.save(state_of(2));
  const auto newest = root / "s/0000000002.safetensors";
  const std::string whole = testing::read_bytes(newest);

  for (size_t size = 0; size < whole.size(); size += 7) {
    const TempDir other;
    std::filesystem::copy(root / "s", other / "s");
    other.write("s/0000000002.safetensors", whole.substr(0, size));
    StreamFolder cut(other / "s");

    const auto loaded = cut.load();

    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(loaded->state.next_seq, 1);
    EXPECT_EQ(loaded->damaged.size(), 1u);
    EXPECT_EQ(numbers(cut), std::vector<int64_t>{1});
    EXPECT_TRUE(std::filesystem::exists(other / "s/0000000002.damaged"));
    EXPECT_EQ(cut.save(state_of(3)), 3) << "no number is given twice";
  }
}

TEST(StreamFolder, WhereNoneIsWholeAllStayAsTheyAre) {
  const TempDir root;
  root.write("s/0000000001.safetensors", "no");
  StreamFolder folder(root / "s");

  expect_error(ErrorKind::kBadFormat, "0000000001", [&] { folder.load(); });

  EXPECT_EQ(numbers(folder), std::vector<int64_t>{1});
}

TEST(StreamFolder, WhatIsNotASnapshotIsLeftAlone) {
  const TempDir root;
  StreamFolder folder(root / "s");
  folder.save(state_of(1));
  for (const std::string name :
       {"s/1.safetensors", "s/note.txt", "s/-000000001.safetensors",
        "s/0000000002.safetensors.partial-1-0"})
    root.write(name, "x");

  EXPECT_EQ(numbers(folder), std::vector<int64_t>{1});
  folder.save(state_of(2));
  EXPECT_TRUE(std::filesystem::exists(root / "s/note.txt"));
}

TEST(StreamFolder, RequestsSinceASnapshotComeFromItsJournalAndLaterOnes) {
  const TempDir root;
  StreamFolder folder(root / "s");
  const auto request = [](int64_t seq) {
    return StreamRequest{seq, true, false, at::full({1, 1, 1, 1}, 0.5f)};
  };
  folder.save(state_of(1));
  folder.start_journal(1)->append(request(1));
  folder.save(state_of(2));
  folder.start_journal(2)->append(request(2));

  EXPECT_EQ(folder.requests_since(1).requests.size(), 2u);
  ASSERT_EQ(folder.requests_since(2).requests.size(), 1u);
  EXPECT_EQ(folder.requests_since(2).requests[0].seq, 2);

  folder.save(state_of(3));
  EXPECT_EQ(folder.requests_since(1).requests.size(), 1u)
      << "the first is removed";
}

TEST(StateStore, SaysWhereAStreamStoodFromHeadersAndItsJournal) {
  const TempDir root;
  const StateStore store(root / "state");
  StreamFolder folder = store.folder("m", "a");
  StreamState state = state_of(7);
  state.frozen = true;
  state.progress = StreamProgress{64, 4, 2};
  folder.save(state);
  folder.save(state_of(8));
  const at::Tensor image = at::full({1, 1, 1, 1}, 0.5f);
  folder.start_journal(2)->append({8, true, false, image});

  EXPECT_EQ(store.find_saved("m", "a")->state.next_seq, 9);
  EXPECT_EQ(store.find_saved("m", "a")->number, 2);
  EXPECT_FALSE(store.find_saved("m", "none").has_value());

  root.write("state/streams/m/a/0000000002.safetensors", "damaged");
  const auto before = store.find_saved("m", "a");
  EXPECT_TRUE(before->state.frozen);
  EXPECT_EQ(before->state.progress->updates, 4);
  root.write("state/streams/m/a/0000000001.safetensors", "damaged");
  expect_error(ErrorKind::kBadFormat, "all snapshots before it",
               [&] { store.find_saved("m", "a"); });
}

TEST(StateStore, ListsTheStreamsOfAModelByName) {
  const TempDir root;
  const StateStore store(root / "state");
  for (const std::string name : {"b", "../a", "c/d"})
    store.folder("m", name).save(state_of(1));

  EXPECT_EQ(store.streams("m"), (std::vector<std::string>{"../a", "b", "c/d"}));
  EXPECT_TRUE(store.streams("other").empty());
  root.write("state/streams/m/note", "of somebody else");
  EXPECT_EQ(store.streams("m").size(), 3U);
  EXPECT_FALSE(std::filesystem::exists(root / "state/streams/a"));
}

TEST(StateStore, AFolderThatIsGoneHasNothing) {
  const TempDir root;
  const StateStore store(root / "state");
  StreamFolder folder = store.folder("m", "a");
  folder.save(state_of(1));

  folder.remove();

  EXPECT_TRUE(store.streams("m").empty());
  EXPECT_FALSE(folder.load().has_value());
}

TEST(StateStore, WhatACrashLeftOfARemovedStreamIsRemovedAtTheStart) {
  const TempDir root;
  root.write("streams/m/.removed-a/0000000001.safetensors", "half of it");
  root.write("streams/m/b/0000000001.safetensors", "another's");

  const StateStore store(root.path());

  EXPECT_FALSE(std::filesystem::exists(root / "streams/m/.removed-a"));
  EXPECT_EQ(store.streams("m"), std::vector<std::string>{"b"});
}

TEST(StateStore, OneProcessAtATimeUsesAFolder) {
  const TempDir root;
  {
    const StateStore first(root.path());
    expect_error(ErrorKind::kInvalid, "in use by another process",
                 [&] { const StateStore second(root.path()); });
  }
  EXPECT_NO_THROW(StateStore(root.path()));
}

}  // namespace
}  // namespace sotta
