#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include "sotta/adapt/adapter.h"
#include "sotta/adapt/odin.h"

#include "tests/adapt/scripted_method.h"
#include "tests/adapt/small_adapter.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

// Adapter::observe() and update(), the halves of step().

namespace sotta {
namespace {

using testing::expect_error;
using testing::expect_same_state;
using testing::golden_stream;
using testing::kSmallWindow;
using testing::ScriptedMethod;
using testing::small_adapter;

at::Tensor images(int64_t begin, int64_t end) {
  return golden_stream().slice(0, begin, end);
}

bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || a.equal(b));
}

void expect_same(const UpdateReport& found, const UpdateReport& wanted) {
  EXPECT_EQ(found.applied, wanted.applied);
  EXPECT_EQ(found.skipped, wanted.skipped);
  EXPECT_EQ(found.verdicts, wanted.verdicts);
  EXPECT_EQ(found.guard, wanted.guard);
  EXPECT_TRUE(same(found.loss, wanted.loss));
  EXPECT_TRUE(same(found.gradient_norm, wanted.gradient_norm));
  EXPECT_TRUE(same(found.parameter_change, wanted.parameter_change));
}

// A scripted method with windows of two samples.
struct Scripted {
  explicit Scripted(const GuardOptions& guard = {}) {
    MethodContext context;
    context.model = testing::golden_network();
    context.update_interval = 2;
    auto owned = std::make_unique<ScriptedMethod>();
    method = owned.get();
    adapter =
        std::make_unique<Adapter>("scripted", std::move(owned), context, guard);
  }

  ScriptedMethod* method;
  std::unique_ptr<Adapter> adapter;
};

at::Tensor some(int64_t count) {
  return at::rand({count, 3, 16, 16});
}

GuardOptions skipping() {
  GuardOptions guard;
  guard.action = "skip";
  return guard;
}

TEST(AdapterObserve, AnswersAndNeverLearns) {
  const Scripted scripted;
  EXPECT_EQ(scripted.adapter->observe(some(1)).verdicts.size(), 1u);
  EXPECT_FALSE(scripted.adapter->update_due());
  EXPECT_EQ(scripted.adapter->room(), 1);
  scripted.adapter->observe(some(1));
  EXPECT_TRUE(scripted.adapter->update_due());
  EXPECT_EQ(scripted.adapter->pending(), 2);
  EXPECT_EQ(scripted.adapter->samples(), 2);
  EXPECT_EQ(scripted.method->updates, 0);

  EXPECT_TRUE(scripted.adapter->update().applied);
  EXPECT_EQ(scripted.method->updates, 1);
  EXPECT_EQ(scripted.adapter->updates(), 1);
  EXPECT_EQ(scripted.adapter->room(), 2);
}

TEST(AdapterObserve, TakesNoMoreThanTheRestOfTheWindow) {
  const Scripted scripted;
  scripted.adapter->observe(some(1));
  expect_error(ErrorKind::kInvalid,
               "expected at most 1, the rest of the window, got 2",
               [&] { scripted.adapter->observe(some(2)); });
  scripted.adapter->observe(some(1));
  expect_error(ErrorKind::kInvalid, "expected an update() first",
               [&] { scripted.adapter->observe(some(1)); });
  EXPECT_EQ(scripted.adapter->samples(), 2);
}

TEST(AdapterUpdate, IsRefusedWhenNoneIsDue) {
  const Scripted scripted;
  expect_error(ErrorKind::kInvalid, "expected a full window, got 0 of 2",
               [&] { scripted.adapter->update(); });
  scripted.adapter->observe(some(1));
  expect_error(ErrorKind::kInvalid, "expected a full window, got 1 of 2",
               [&] { scripted.adapter->update(); });
  EXPECT_EQ(scripted.method->updates, 0);
}

// Whether the method decides before the update or in it.
TEST(AdapterUpdate, SaysWhatBecameOfEverySampleOfTheWindow) {
  const Scripted early;
  early.method->verdict = Verdict::kLowConfidence;
  early.adapter->observe(some(1));
  early.method->verdict = Verdict::kAdmitted;
  early.adapter->observe(some(1));
  EXPECT_EQ(
      early.adapter->update().verdicts,
      (std::vector<Verdict>{Verdict::kLowConfidence, Verdict::kAdmitted}));

  const Scripted late;
  late.method->verdict = Verdict::kPending;
  late.method->report.verdicts = {Verdict::kRedundant, Verdict::kAdmitted};
  late.adapter->observe(some(2));
  EXPECT_EQ(late.adapter->update().verdicts,
            (std::vector<Verdict>{Verdict::kRedundant, Verdict::kAdmitted}));
}

TEST(AdapterUpdate, SaysWhatAGuardTookBack) {
  const Scripted scripted(skipping());
  scripted.method->report.loss = at::tensor(std::nan(""));
  scripted.method->verdict = Verdict::kLowConfidence;
  scripted.adapter->observe(some(1));
  scripted.method->verdict = Verdict::kAdmitted;
  scripted.adapter->observe(some(1));
  const UpdateReport report = scripted.adapter->update();
  EXPECT_EQ(report.guard, "loss is not finite; skip");
  EXPECT_FALSE(report.applied);
  EXPECT_EQ(report.verdicts,
            (std::vector<Verdict>{Verdict::kLowConfidence, Verdict::kGuard}));
  EXPECT_EQ(scripted.method->value.item<double>(), 0);
}

// Its report is the first, and concerns no sample of the call.
TEST(AdapterStep, DoesAnUpdateThatIsDueFirst) {
  const Scripted scripted(skipping());
  scripted.method->script = [](UpdateReport& report, int64_t updates) {
    report.loss = at::tensor(updates == 0 ? std::nan("") : 1);
  };
  scripted.adapter->observe(some(2));
  const StepResult result = scripted.adapter->step(some(3));
  EXPECT_EQ(result.verdicts, std::vector<Verdict>(3, Verdict::kAdmitted));
  ASSERT_EQ(result.updates.size(), 2u);
  EXPECT_EQ(result.guard, "loss is not finite; skip");
  EXPECT_EQ(result.updates[0].guard, "loss is not finite; skip");
  EXPECT_EQ(result.updates[1].guard, "");
  EXPECT_EQ(scripted.adapter->pending(), 1);
}

class Halves : public ::testing::TestWithParam<std::string> {};

// Parts of any size; those of the second adapter end with windows.
TEST_P(Halves, InTurnAreStep) {
  const auto whole = small_adapter(GetParam()),
             halves = small_adapter(GetParam());
  Rng draw(11);
  for (int64_t begin = 0; begin < 160;) {
    // Often whole windows, which methods treat apart.
    const bool full = begin % kSmallWindow == 0 && draw.below(2) == 0;
    const int64_t size = full ? kSmallWindow : 1 + draw.below(40);
    const int64_t end = std::min<int64_t>(160, begin + size);
    const StepResult wanted = whole->step(images(begin, end));
    size_t updates = 0;
    for (int64_t from = begin; from < end;) {
      const int64_t to = std::min(end, from + halves->room());
      const Observation found = halves->observe(images(from, to));
      EXPECT_TRUE(
          found.logits.equal(wanted.logits.slice(0, from - begin, to - begin)));
      from = to;
      if (halves->update_due())
        expect_same(halves->update(), wanted.updates.at(updates++));
    }
    EXPECT_EQ(updates, wanted.updates.size());
    expect_same_state(halves->snapshot(), whole->snapshot());
    begin = end;
  }
}

// A window in one piece or in parts, saved when it is full.
TEST_P(Halves, ASnapshotBetweenThemContinuesBitForBit) {
  const testing::TempDir folder;
  for (const int64_t part : {16, 6}) {
    const auto old = small_adapter(GetParam()),
               fresh = small_adapter(GetParam());
    old->step(images(0, 2 * kSmallWindow));
    for (int64_t begin = 32; begin < 48; begin += part)
      old->observe(images(begin, std::min<int64_t>(48, begin + part)));
    write_snapshot(folder / "state", old->snapshot());
    fresh->step(images(100, 123));  // has a past of its own
    fresh->restore(read_snapshot(folder / "state"));
    EXPECT_TRUE(fresh->update_due());
    expect_same_state(fresh->snapshot(), old->snapshot());
    expect_same(fresh->update(), old->update());
    EXPECT_TRUE(fresh->step(images(48, 70))
                    .logits.equal(old->step(images(48, 70)).logits));
    expect_same_state(fresh->snapshot(), old->snapshot());
  }
}

// The window that waited is another one's.
TEST_P(Halves, RestoringForgetsAnUpdateThatWasDue) {
  const auto old = small_adapter(GetParam()), other = small_adapter(GetParam());
  old->step(images(0, 20));
  other->observe(images(80, 96));
  other->restore(old->snapshot());
  EXPECT_FALSE(other->update_due());
  old->step(images(20, 52));
  other->step(images(20, 52));
  expect_same_state(other->snapshot(), old->snapshot());
}

TEST_P(Halves, TheImagesAreTheCallersAgainAfterObserve) {
  for (const bool floats : {false, true}) {
    const auto one = small_adapter(GetParam()),
               other = small_adapter(GetParam());
    const at::Tensor window =
        floats ? images(0, 16).to(at::kFloat).div(255) : images(0, 16);
    at::Tensor buffer = window.clone();
    one->observe(window);
    other->observe(buffer);
    buffer.zero_();
    expect_same(other->update(), one->update());
    expect_same_state(other->snapshot(), one->snapshot());
  }
}

TEST_P(Halves, PredictingBetweenThemChangesNothing) {
  const auto asked = small_adapter(GetParam()),
             quiet = small_adapter(GetParam());
  asked->observe(images(0, 16));
  quiet->observe(images(0, 16));
  asked->predict(images(16, 24));
  expect_same(asked->update(), quiet->update());
  expect_same_state(asked->snapshot(), quiet->snapshot());
}

INSTANTIATE_TEST_SUITE_P(Registry, Halves, ::testing::ValuesIn(method_names()),
                         [](const auto& test) { return test.param; });

// A screen in front keeps its flags for the update.
TEST(AdapterObserve, AFullWindowOfScreenedSamplesIsRestored) {
  for (const char* method : {"tent", "sotta"}) {
    const auto make = [&] {
      MethodContext context;
      context.model = testing::golden_network();
      context.update_interval = kSmallWindow;
      OdinOptions options;
      options.threshold =
          std::get<0>(odin_scores(*executor_of(context), images(0, 16), options)
                          .sort())[8]
              .item<double>();
      return std::make_unique<Adapter>(
          "screened",
          make_odin_screen(context, options, make_method(method, context)),
          context);
    };
    const auto old = make(), fresh = make();
    const Observation seen = old->observe(images(0, 16));
    const auto foreign = std::count(seen.verdicts.begin(), seen.verdicts.end(),
                                    Verdict::kForeign);
    EXPECT_GT(foreign, 0);
    EXPECT_LT(foreign, 16);
    fresh->restore(old->snapshot());
    expect_same(fresh->update(), old->update());
    expect_same_state(fresh->snapshot(), old->snapshot());

    old->observe(images(16, 32));
    Snapshot damaged = old->snapshot();
    if (damaged.tensors.erase("waiting") == 0) continue;
    expect_error(ErrorKind::kBadFormat, "odin.flagged",
                 [&] { fresh->restore(damaged); });
  }
}

}  // namespace
}  // namespace sotta
