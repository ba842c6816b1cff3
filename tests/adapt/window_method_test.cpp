#include "adapt/window_method.h"

#include <algorithm>

#include <ATen/ops/full.h>

#include "adapt/methods/tent.h"
#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::Trace;

// The frame as TENT uses it.
TEST(WindowMethod, AWindowWithoutSamplesIsSkipped) {
  const auto method = make_tent(Trace("tent_clean").context(), {});
  const UpdateReport report = method->update();
  EXPECT_FALSE(report.applied);
  EXPECT_EQ(report.skipped, "the window has no samples");
}

TEST(WindowMethod, AdaptsToFewerSamplesThanTheInterval) {
  const Trace trace("tent_clean");
  const auto method = make_tent(trace.context(), {});
  method->observe(trace.window(0).slice(0, 0, 5), false);
  EXPECT_EQ(method->update().verdicts.size(), 5u);
}

TEST(WindowMethod, PartsOfBytesAndFloatsMakeOneWindow) {
  const Trace trace("tent_clean");
  const auto bytes = make_adapter("tent", trace.context());
  const auto mixed = make_adapter("tent", trace.context());
  bytes->step(trace.window(0));
  mixed->step(trace.window(0).slice(0, 0, 8));
  mixed->step(trace.window(0).slice(0, 8, 16).to(at::kFloat).div(255));
  EXPECT_TRUE(testing::close(mixed->state().affine, bytes->state().affine));
}

// The snapshot that a guard returns to has the window's samples in it.
TEST(WindowMethod, AWindowThatAGuardTookBackDoesNotComeAgain) {
  const Trace trace("tent_clean");
  GuardOptions guard;
  guard.action = "skip";
  guard.max_parameter_change = 1e-9;
  const auto adapter =
      make_adapter("tent", trace.context(), Preset::kClean, {}, guard);
  adapter->step(trace.window(0).slice(0, 0, 8));
  const StepResult result = adapter->step(trace.window(0).slice(0, 8, 16));
  EXPECT_FALSE(result.guard.empty());
  EXPECT_EQ(adapter->snapshot().tensors.count("waiting"), 0u);
}

struct Counted {
  at::Tensor number;

  std::vector<at::Tensor*> tensors() { return {&number}; }
  std::vector<at::Tensor*> needed_on_host() { return {&number}; }
};

// Counts the calls of assess(), and keeps what came of the last.
class Assessing : public WindowMethod<Counted> {
 public:
  explicit Assessing(const MethodContext& context) : WindowMethod(context) {}

  mutable int64_t assessed = 0;
  Counted last;

 private:
  Counted assess(const WindowPass&) const override {
    ++assessed;
    return {at::full({2}, static_cast<double>(assessed))};
  }
  UpdateReport adapt(const at::Tensor&, const Counted& counted) override {
    last = counted;
    return {};
  }
};

TEST(WindowMethod, AssessesOnceAWindow) {
  const Trace trace("tent_clean");
  Assessing method(trace.context());

  method.observe(trace.window(0), true);
  EXPECT_EQ(method.assessed, 0) << "on the CPU that is the update's work";
  method.update();
  EXPECT_EQ(method.assessed, 1);
  EXPECT_TRUE(method.last.number.equal(at::full({2}, 1.0)));
}

TEST(WindowMethod, AssessesAWholeWindowEarlyWhereTheExecutorWantsIt) {
  const Trace trace("tent_clean");
  MethodContext context = trace.context();
  context.executor = testing::capturing_executor(context);
  Assessing method(context);

  method.observe(trace.window(0), true);
  EXPECT_EQ(method.assessed, 1);
  method.update();
  EXPECT_EQ(method.assessed, 1);
  EXPECT_TRUE(method.last.number.equal(at::full({2}, 1.0)));

  method.observe(trace.window(1).slice(0, 0, 8), false);
  method.observe(trace.window(1).slice(0, 8, 16), true);
  EXPECT_EQ(method.assessed, 1) << "a part is not the window";
  method.update();
  EXPECT_EQ(method.assessed, 2);
}

// The methods that have something to assess on the host, as a GPU runs them and
// as the CPU does.
class EarlyAssessment : public ::testing::TestWithParam<const char*> {
 protected:
  MethodContext context(bool early) const {
    MethodContext context = trace_.context();
    context.source_images = testing::golden_stream();
    context.measure_loss_after = true;
    if (early) context.executor = testing::capturing_executor(context);
    return context;
  }
  std::unique_ptr<Method> make(const MethodContext& context) const {
    return make_method(GetParam(), context, Preset::kClean,
                       {{"learning_rate", 0.01}});
  }
  Adapter adapter(bool early, const GuardOptions& guard = {}) const {
    const MethodContext chosen = context(early);
    return {GetParam(), make(chosen), chosen, guard};
  }

  const Trace trace_{"tent_clean"};
};

bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || a.equal(b));
}

void expect_same(const UpdateReport& found, const UpdateReport& wanted) {
  EXPECT_EQ(found.applied, wanted.applied);
  EXPECT_EQ(found.skipped, wanted.skipped);
  EXPECT_TRUE(same(found.loss, wanted.loss));
  EXPECT_TRUE(same(found.perturbed_loss, wanted.perturbed_loss));
  EXPECT_TRUE(same(found.loss_after, wanted.loss_after));
  EXPECT_TRUE(same(found.gradient_norm, wanted.gradient_norm));
  EXPECT_TRUE(same(found.perturbation_norm, wanted.perturbation_norm));
  EXPECT_TRUE(same(found.parameter_change, wanted.parameter_change));
}

// By bits, since a moving loss may be NaN: it is stored as a word.
void expect_same(const Snapshot& found, const Snapshot& wanted) {
  ASSERT_EQ(found.tensors.size(), wanted.tensors.size());
  for (const auto& [name, tensor] : wanted.tensors)
    EXPECT_TRUE(same(found.tensors.at(name), tensor)) << name;
}

void expect_same_step(Adapter& found, Adapter& wanted,
                      const at::Tensor& images) {
  const StepResult early = found.step(images), late = wanted.step(images);
  EXPECT_TRUE(early.logits.equal(late.logits));
  EXPECT_TRUE(early.prediction.labels.equal(late.prediction.labels));
  EXPECT_TRUE(early.prediction.confidences.equal(late.prediction.confidences));
  EXPECT_TRUE(early.prediction.entropies.equal(late.prediction.entropies));
  EXPECT_EQ(early.verdicts, late.verdicts);
  EXPECT_EQ(early.guard, late.guard);
  ASSERT_EQ(early.updates.size(), late.updates.size());
  for (size_t i = 0; i < late.updates.size(); ++i)
    expect_same(early.updates[i], late.updates[i]);
  expect_same(found.snapshot(), wanted.snapshot());
}

TEST_P(EarlyAssessment, ChangesNoBit) {
  Adapter early = adapter(true), late = adapter(false);
  for (int64_t window = 0; window < 6; ++window) {
    SCOPED_TRACE(window);
    const at::Tensor images = trace_.window(window);
    const int64_t part = window == 3 ? 5 : 16;  // one that comes in parts
    for (int64_t begin = 0; begin < 16; begin += part)
      expect_same_step(
          early, late,
          images.slice(0, begin, std::min<int64_t>(begin + part, 16)));
  }
  EXPECT_GT(early.updates(), 0);
}

TEST_P(EarlyAssessment, ChangesNoBitUnderAGuard) {
  GuardOptions guard;
  guard.action = "skip";
  guard.max_parameter_change = 1e-9;
  Adapter early = adapter(true, guard), late = adapter(false, guard);
  for (int64_t window = 0; window < 3; ++window)
    expect_same_step(early, late, trace_.window(window));
  EXPECT_EQ(early.updates(), 0);
  EXPECT_NE(early.step(trace_.window(3)).guard, "");
}

TEST_P(EarlyAssessment, ChangesNothingBeforeTheUpdate) {
  const auto method = make(context(true));
  const auto state = [&] {
    Snapshot snapshot;
    auto archive = StateArchive::into(snapshot);
    method->exchange(archive);
    return snapshot;
  };
  method->observe(trace_.window(0), true);
  method->update();

  const Snapshot before = state();
  method->observe(trace_.window(1), true);
  Snapshot between = state();
  EXPECT_TRUE(between.tensors.at("waiting").equal(trace_.window(1)));
  between.tensors.erase("waiting");
  expect_same(between, before);
  method->drop_window(32);
  EXPECT_EQ(method->update().skipped, "the window has no samples");
}

INSTANTIATE_TEST_SUITE_P(Methods, EarlyAssessment,
                         ::testing::Values("eata", "sar"),
                         [](const auto& tried) {
                           return std::string(tried.param);
                         });

}  // namespace
}  // namespace sotta
