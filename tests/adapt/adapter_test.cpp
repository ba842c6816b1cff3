#include "sotta/adapt/adapter.h"

#include <limits>
#include <optional>

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

#include "data/tensor.h"
#include "tests/adapt/trace.h"
#include "tests/support/expect_error.h"
#include "tests/support/number_lists.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::counting;
using testing::golden_stream;

MethodContext context_with(int64_t update_interval = 16) {
  MethodContext context;
  context.model = testing::golden_network();
  context.rng = Rng(3);
  context.update_interval = update_interval;
  if (context.model)
    context.source_images = testing::Golden("methods/stream")["fisher_clean"];
  return context;
}

std::unique_ptr<Adapter> make(const std::string& method,
                              int64_t update_interval = 16) {
  OptionMap changes;
  if (method == "sotta" || method == "screened_sotta")
    changes = {{"min_confidence", 0.5}, {"memory_capacity", int64_t{16}}};
  if (method == "cotta") changes = {{"augmentations", int64_t{2}}};
  return make_adapter(method, context_with(update_interval), Preset::kClean,
                      changes);
}

void expect_same(const Snapshot& one, const Snapshot& other) {
  ASSERT_EQ(one.tensors.size(), other.tensors.size());
  for (const auto& [name, tensor] : one.tensors)
    EXPECT_TRUE(tensor.equal(other.tensors.at(name))) << name;
}

// Runs the stream in calls of `size` images.
Snapshot after_stream(Adapter& adapter, int64_t size, int64_t images = 160) {
  for (int64_t begin = 0; begin < images; begin += size)
    adapter.step(
        golden_stream().slice(0, begin, std::min(begin + size, images)));
  return adapter.snapshot();
}

// How a snapshot, or images, are refused; nothing if they are taken.
template <class Action>
std::optional<ErrorKind> error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  return std::nullopt;
}

std::optional<ErrorKind> refusal_of(Adapter& adapter,
                                    const Snapshot& snapshot) {
  return error_of([&] { adapter.restore(snapshot); });
}

std::optional<ErrorKind> refusal_of(Adapter& adapter,
                                    const at::Tensor& images) {
  return error_of([&] { adapter.step(images); });
}

class EveryMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, CountsSamplesAndUpdatesWhateverTheCallSize) {
  for (const int64_t size : {1, 5, 16, 40, 160}) {
    const auto adapter = make(GetParam());
    after_stream(*adapter, size, 90);
    EXPECT_EQ(adapter->samples(), 90) << size;
    EXPECT_LE(adapter->updates(), 5) << size;
  }
}

TEST_P(EveryMethod, GivesOneVerdictAndOnePredictionPerSample) {
  const auto adapter = make(GetParam());
  const StepResult result = adapter->step(golden_stream().slice(0, 0, 40));
  EXPECT_EQ(result.verdicts.size(), 40u);
  EXPECT_EQ(result.prediction.labels.numel(), 40);
  EXPECT_EQ(result.logits.size(0), 40);
  EXPECT_EQ(result.updates.size(), 2u);
}

TEST_P(EveryMethod, PredictChangesNothing) {
  const auto adapter = make(GetParam());
  after_stream(*adapter, 16, 40);
  const Snapshot before = adapter->snapshot();
  const Prediction first = adapter->predict(golden_stream().slice(0, 0, 16));
  const Prediction again = adapter->predict(golden_stream().slice(0, 0, 16));
  expect_same(before, adapter->snapshot());
  EXPECT_TRUE(first.confidences.equal(again.confidences));
}

// The 64th sample is where a screen parts the looks for the first time, before
// it predicts.
TEST_P(EveryMethod, PredictsWhatTheNextStepPredicts) {
  const auto adapter = make(GetParam());
  after_stream(*adapter, 16, 32);
  const at::Tensor images = golden_stream().slice(0, 32, 48);
  const Prediction asked = adapter->predict(images);
  EXPECT_TRUE(testing::close(asked.confidences,
                             adapter->step(images).prediction.confidences));
}

TEST_P(EveryMethod, StoppedSavedLoadedAndContinuedGivesTheSameBits) {
  const testing::TempDir folder;
  const auto whole = make(GetParam());
  const auto first = make(GetParam());
  const auto second = make(GetParam());
  int64_t begin = 0;
  for (const int64_t size : {16, 16, 16, 6, 10, 16, 16}) {
    const at::Tensor images = golden_stream().slice(0, begin, begin + size);
    begin += size;
    whole->step(images);
    (begin <= 54 ? first : second)->step(images);
    if (begin != 54) continue;  // in the middle of a window
    write_snapshot(folder / "state.safetensors", first->snapshot());
    second->restore(read_snapshot(folder / "state.safetensors"));
  }
  expect_same(whole->snapshot(), second->snapshot());
}

// Compares what the two do, not only what they save: a value that no snapshot
// holds would be missing from both.
TEST_P(EveryMethod, AFreshOneGoesOnFromASnapshotAsTheOldOneDoes) {
  for (const int64_t seen : {48, 54}) {  // a window's end, and inside one
    const auto old = make(GetParam()), fresh = make(GetParam());
    after_stream(*old, 16, seen);
    fresh->restore(old->snapshot());
    EXPECT_EQ(fresh->samples(), seen);
    EXPECT_EQ(fresh->pending(), seen % 16);
    EXPECT_EQ(fresh->updates(), old->updates());
    EXPECT_EQ(fresh->memory_samples(), old->memory_samples());
    EXPECT_TRUE(fresh->state().affine.equal(old->state().affine));
    EXPECT_TRUE(fresh->state().body.equal(old->state().body));
    EXPECT_TRUE(fresh->state().running_var.equal(old->state().running_var));
    for (int64_t begin = seen; begin < 144; begin += 10) {
      const at::Tensor images = golden_stream().slice(0, begin, begin + 10);
      const StepResult expected = old->step(images),
                       found = fresh->step(images);
      EXPECT_TRUE(found.logits.equal(expected.logits)) << begin;
      EXPECT_EQ(found.verdicts, expected.verdicts) << begin;
      ASSERT_EQ(found.updates.size(), expected.updates.size());
      for (size_t i = 0; i < found.updates.size(); ++i)
        EXPECT_EQ(found.updates[i].skipped, expected.updates[i].skipped);
    }
    EXPECT_EQ(fresh->updates(), old->updates());
    EXPECT_EQ(fresh->memory_samples(), old->memory_samples());
    EXPECT_TRUE(fresh->method().trained_state().affine.equal(
        old->method().trained_state().affine));
  }
}

// A network whose last layer has a weight that is no number.
std::shared_ptr<const Classifier> broken_network() {
  TensorFile file = testing::Golden("methods/network").file();
  at::Tensor bias = to_tensor(file.tensors.at("fc.bias")).clone();
  bias[2] = std::numeric_limits<float>::quiet_NaN();
  file.tensors["fc.bias"] = to_array(bias);
  return make_classifier(file, {}, "broken");
}

TEST_P(EveryMethod, NothingIsLearntFromAnswersThatAreNotFinite) {
  MethodContext context = context_with();
  context.model = broken_network();
  OptionMap changes;
  if (GetParam() == "eata") changes = {{"fisher_weight", 0.0}};
  if (GetParam() == "sotta" || GetParam() == "screened_sotta")
    changes = {{"memory", std::string("fifo")}};
  const auto adapter =
      make_adapter(GetParam(), context, Preset::kClean, changes);
  for (const int64_t size : {16, 6, 10}) {  // a whole window, and in parts
    const StepResult result = adapter->step(golden_stream().slice(0, 0, size));
    if (GetParam() == "lame") continue;  // takes NaN for the smallest
    EXPECT_EQ(result.verdicts, std::vector<Verdict>(static_cast<size_t>(size),
                                                    Verdict::kNotFinite))
        << size;
    for (const auto& update : result.updates)
      EXPECT_FALSE(update.applied);
  }
  EXPECT_EQ(adapter->updates(), 0);
  EXPECT_TRUE(adapter->memory_samples().empty());
  EXPECT_TRUE(adapter->state().affine.equal(context.model->source().affine));
  EXPECT_TRUE(adapter->method().trained_state().affine.equal(
      context.model->source().affine));
}

TEST_P(EveryMethod, ResetReturnsToTheBeginning) {
  const auto adapter = make(GetParam());
  const Snapshot fresh = adapter->snapshot();
  const Snapshot first = after_stream(*adapter, 16);
  adapter->reset();
  expect_same(fresh, adapter->snapshot());
  expect_same(first, after_stream(*adapter, 16));
}

TEST_P(EveryMethod, SameBitsAtAnyThreadCount) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = make(GetParam());
  const Snapshot expected = after_stream(*one, 16);
  for (const int count : {2, 4}) {
    at::set_num_threads(count);
    const auto several = make(GetParam());
    expect_same(expected, after_stream(*several, 16));
  }
  at::set_num_threads(threads);
}

TEST_P(EveryMethod, BytesAndFloatsGiveTheSamePredictions) {
  const auto bytes = make(GetParam());
  const auto floats = make(GetParam());
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor window = golden_stream().slice(0, 16 * i, 16 * (i + 1));
    EXPECT_TRUE(bytes->step(window).logits.equal(
        floats->step(window.to(at::kFloat).div(255)).logits))
        << i;
  }
}

TEST_P(EveryMethod, BadImagesAreRefusedAndChangeNothing) {
  const auto adapter = make(GetParam());
  after_stream(*adapter, 16, 20);
  const Snapshot before = adapter->snapshot();
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const at::Tensor& images :
       {at::rand({4, 1, 16, 16}), at::rand({3, 16, 16}),
        at::rand({0, 3, 16, 16}), at::rand({4, 3, 16, 16}, at::kDouble),
        at::full({4, 3, 16, 16}, 1.5f), at::full({4, 3, 16, 16}, -0.1f),
        at::full({4, 3, 16, 16}, nan)}) {
    EXPECT_THROW(adapter->step(images), Error);
    EXPECT_THROW(adapter->predict(images), Error);
  }
  expect_same(before, adapter->snapshot());
}

TEST_P(EveryMethod, BatchesOfOneAdaptEverySixteenSamples) {
  const auto adapter = make(GetParam());
  size_t updates = 0;
  for (int64_t i = 0; i < 32; ++i)
    updates += adapter->step(golden_stream().slice(0, i, i + 1)).updates.size();
  EXPECT_EQ(updates, 2u);
}

TEST_P(EveryMethod, AForeignSnapshotIsRefusedAndChangesNothing) {
  const auto adapter = make(GetParam());
  after_stream(*adapter, 16, 32);
  const Snapshot before = adapter->snapshot();

  Snapshot other = before;
  other.method = "another";
  EXPECT_THROW(adapter->restore(other), Error);
  Snapshot extra = before;
  extra.tensors["extra"] = at::zeros({1});
  EXPECT_THROW(adapter->restore(extra), Error);
  Snapshot missing = before;
  missing.tensors.erase("adapter.pending");
  EXPECT_THROW(adapter->restore(missing), Error);

  expect_same(before, adapter->snapshot());
}

TEST_P(EveryMethod, ASnapshotOfAnotherElementTypeIsRefusedAndChangesNothing) {
  const auto adapter = make(GetParam());
  const Snapshot before = after_stream(*adapter, 16, 40);
  for (const auto& [name, tensor] : before.tensors) {
    Snapshot other = before;
    other.tensors[name] = tensor.to(at::kDouble);
    EXPECT_EQ(refusal_of(*adapter, other), ErrorKind::kBadFormat) << name;
  }
  expect_same(before, adapter->snapshot());
}

TEST_P(EveryMethod, ASnapshotWithAnImpossibleWindowIsRefused) {
  const auto adapter = make(GetParam());
  const Snapshot before = after_stream(*adapter, 16, 20);
  for (const int64_t pending : {-1, 17, 1000}) {
    Snapshot other = before;
    other.tensors["adapter.verdicts"] =
        at::zeros({std::max<int64_t>(pending, 0)}, at::kLong);
    other.tensors["adapter.pending"] = at::full({1}, pending, at::kLong);
    testing::expect_error(
        ErrorKind::kBadFormat,
        "samples of a window of 16, got " + std::to_string(pending),
        [&] { adapter->restore(other); });
  }
  expect_same(before, adapter->snapshot());
}

TEST_P(EveryMethod, ASnapshotWithOtherVerdictsThanSamplesIsRefused) {
  const auto adapter = make(GetParam());
  const Snapshot before = after_stream(*adapter, 16, 20);
  for (const at::Tensor& verdicts :
       {at::zeros({3}, at::kLong), at::zeros({5}, at::kLong),
        at::full({4}, -1, at::kLong), at::full({4}, kVerdicts, at::kLong)}) {
    Snapshot other = before;
    other.tensors["adapter.verdicts"] = verdicts;
    testing::expect_error(
        ErrorKind::kBadFormat,
        "expected \"adapter.verdicts\" on 4 samples of the window",
        [&] { adapter->restore(other); });
  }
  expect_same(before, adapter->snapshot());
}

// As versions wrote them that kept no verdicts, and no full windows.
TEST_P(EveryMethod, ASnapshotWithoutVerdictsStillLoads) {
  const auto old = make(GetParam()), fresh = make(GetParam());
  Snapshot snapshot = after_stream(*old, 16, 20);
  snapshot.tensors.erase("adapter.verdicts");
  fresh->restore(snapshot);
  const at::Tensor rest = golden_stream().slice(0, 20, 64);
  EXPECT_TRUE(fresh->step(rest).logits.equal(old->step(rest).logits));
  expect_same(fresh->snapshot(), old->snapshot());

  snapshot.tensors["adapter.pending"] = at::full({1}, 16, at::kLong);
  EXPECT_EQ(refusal_of(*fresh, snapshot), ErrorKind::kBadFormat);
}

TEST_P(EveryMethod, ImagesOfAnotherSizeAreRefusedAndChangeNothing) {
  const auto adapter = make(GetParam());
  const Snapshot before = after_stream(*adapter, 16, 20);
  EXPECT_EQ(refusal_of(*adapter, at::rand({16, 3, 20, 16})),
            ErrorKind::kInvalid);
  EXPECT_EQ(refusal_of(*adapter, at::rand({16, 3, 16, 20})),
            ErrorKind::kInvalid);
  expect_same(before, adapter->snapshot());

  adapter->reset();
  EXPECT_EQ(adapter->step(at::rand({16, 3, 20, 16})).updates.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMethod,
                         ::testing::ValuesIn(method_names()),
                         [](const auto& test) { return test.param; });

// LAME's network does as it says, but its assignment then compares samples.
TEST_P(EveryMethod, SaysWhetherASamplesLogitsDependOnTheOthers) {
  if (GetParam() == "lame") return;
  const auto adapter = make(GetParam());
  const auto logits_beside = [&](int64_t companions) {
    const at::Tensor images =
        at::cat({golden_stream().slice(0, 0, 4),
                 golden_stream().slice(0, companions, companions + 4)});
    return adapter->method().predict(images).slice(0, 0, 4);
  };
  EXPECT_EQ(testing::close(logits_beside(20), logits_beside(40)),
            adapter->method().prediction_stats().source ==
                NormStats::Source::kRunning);
}

// The first norm layer sees the memory itself, whatever the update does to the
// weights: its statistics tell the share of the update's batch.
TEST_P(EveryMethod, SaysHowMuchOfAnUpdateEntersTheRunningStatistics) {
  OptionMap changes;
  if (GetParam() == "sotta") changes = {{"min_confidence", 0.0}};
  if (GetParam() == "screened_sotta")  // its first averages are another thing
    changes = {{"min_confidence", 0.0}, {"warm_start", false}};
  if (GetParam() == "rotta") changes = {{"quota_first", false}};
  const auto adapter =
      make_adapter(GetParam(), context_with(), Preset::kClean, changes);
  const Classifier& model = adapter->model();
  const at::Tensor images = golden_stream().slice(0, 0, 16);
  const at::Tensor batch_mean =
      model.forward(images, model.source(), NormStats::batch()).batch_mean;
  adapter->step(images);

  const int64_t channels = model.norm_layers()[0].channels;
  const auto first = [&](const at::Tensor& vector) {
    return vector.slice(0, 0, channels);
  };
  EXPECT_TRUE(testing::close(
      first(adapter->state().running_mean),
      first(model.source().running_mean)
          .lerp(first(batch_mean), adapter->method().statistics_share())));
}

TEST(Adapter, UnknownMethodSuggestsAKnownOne) {
  try {
    make_adapter("sota", context_with());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sotta"), std::string::npos);
  }
}

// The images it holds say of what size the next ones have to be.
TEST(Adapter, ImagesOfAnotherSizeThanASnapshotHoldsAreRefused) {
  for (const char* method : {"sotta", "rotta", "tent", "cotta"}) {
    const auto first = make(method);
    const auto second = make(method);
    second->restore(after_stream(*first, 16, 20));
    const Snapshot before = second->snapshot();
    EXPECT_EQ(refusal_of(*second, at::rand({16, 3, 20, 20})),
              ErrorKind::kInvalid)
        << method;
    expect_same(before, second->snapshot());
  }
}

TEST(Adapter, ASnapshotWithImagesOfOtherChannelsIsRefused) {
  const auto adapter = make("sotta");
  Snapshot other = after_stream(*adapter, 16, 16);
  other.tensors["memory.images"] =
      other.tensors["memory.images"].slice(1, 0, 1).clone();
  EXPECT_EQ(refusal_of(*adapter, other), ErrorKind::kBadFormat);
}

TEST(Adapter, TimesUpdatesApart) {
  const auto adapter = make("tent");
  EXPECT_EQ(adapter->step(golden_stream().slice(0, 0, 15)).update_seconds, 0);
  EXPECT_GT(adapter->step(golden_stream().slice(0, 15, 16)).update_seconds, 0);
}

std::unique_ptr<Adapter> with_last_ten(const GuardOptions& guard = {}) {
  return make_adapter(
      "sotta", context_with(), Preset::kClean,
      {{"memory", std::string("fifo")}, {"memory_capacity", int64_t{10}}},
      guard);
}

TEST(Adapter, SaysWhichSamplesTheMemoryHolds) {
  const auto adapter = with_last_ten();
  EXPECT_TRUE(adapter->memory_samples().empty());
  EXPECT_FALSE(adapter->memory_images().defined());
  after_stream(*adapter, 5, 40);
  EXPECT_EQ(adapter->memory_samples(), counting(10, 30));
  EXPECT_TRUE(adapter->memory_images().equal(golden_stream().slice(0, 30, 40)));
}

TEST(Adapter, LogitsArePredictedAsLabelsAre) {
  const auto adapter = make("tent");
  after_stream(*adapter, 16, 32);
  const at::Tensor images = golden_stream().slice(0, 0, 8);
  EXPECT_TRUE(classify(adapter->predict_logits(images))
                  .confidences.equal(adapter->predict(images).confidences));
  EXPECT_THROW(adapter->predict_logits(images[0]), Error);
}

TEST(Adapter, ARestoredMemoryHoldsTheSameSamples) {
  const auto first = with_last_ten();
  const auto second = with_last_ten();
  after_stream(*first, 16, 40);
  second->restore(first->snapshot());
  EXPECT_EQ(second->memory_samples(), counting(10, 30));
  second->step(golden_stream().slice(0, 40, 43));
  EXPECT_EQ(second->memory_samples(), counting(10, 33));
}

TEST(Adapter, AfterAGuardSamplesAreStillCountedAlongTheStream) {
  for (const char* action : {"skip", "rollback", "reset"}) {
    GuardOptions guard;
    guard.action = action;
    guard.max_parameter_change = 1e-9;
    const auto adapter = with_last_ten(guard);
    adapter->step(golden_stream().slice(0, 0, 16));
    adapter->step(golden_stream().slice(0, 16, 27));
    EXPECT_EQ(adapter->memory_samples(), counting(10, 17)) << action;
  }
}

TEST(Adapter, AMethodWithoutAMemoryHoldsNothing) {
  const auto adapter = make("tent");
  after_stream(*adapter, 16, 32);
  EXPECT_TRUE(adapter->memory_samples().empty());
}

TEST(Adapter, UpdateIntervalMustBePositive) {
  EXPECT_THROW(make("sotta", 0), Error);
}

}  // namespace
}  // namespace sotta
