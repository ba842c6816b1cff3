#include "adapt/methods/rotta.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"
#include "sotta/nn/losses.h"

#include "nn/augment.h"
#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::close;
using testing::number;
using testing::Trace;

std::vector<int64_t> memory_ages(const Snapshot& snapshot) {
  const at::Tensor items = snapshot.tensors.at("memory.items");
  std::vector<int64_t> ages;
  for (int64_t i = 5; i < items.numel(); i += 6)
    ages.push_back(items[i].item<int64_t>());
  return ages;
}

class RottaGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(RottaGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  const auto make_one = [&] {
    return make_adapter("rotta", trace.context(), Preset::kClean,
                        trace.options());
  };
  auto adapter = make_one();
  for (int64_t window = 0; window < 10; ++window) {
    const StepResult result = adapter->step(trace.window(window));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter, make_one);
    testing::expect_result(trace, window, result);
    EXPECT_EQ(adapter->memory_samples(),
              testing::expected_samples(trace, window))
        << "window " << window;

    const Snapshot now = adapter->snapshot();
    auto ages = memory_ages(now);
    ages.resize(16, -1);
    EXPECT_TRUE(at::tensor(ages, at::kLong).equal(trace.at("ages", window)))
        << "window " << window;
    for (const std::string name : {"affine", "running_mean", "running_var"}) {
      EXPECT_TRUE(
          trace.matches(name, window, now.tensors.at("student_" + name)));
      EXPECT_TRUE(trace.matches("teacher_" + name, window,
                                now.tensors.at("teacher_" + name)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, RottaGolden,
                         ::testing::Values("rotta_clean", "rotta_paper"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

MethodContext tiny_context() {
  MethodContext context;
  context.model = testing::golden_network();
  context.rng = Rng(5);
  context.update_interval = 16;
  return context;
}

std::unique_ptr<Adapter> make(const OptionMap& changes = {}) {
  return make_adapter("rotta", tiny_context(), Preset::kClean, changes);
}

at::Tensor first_window() {
  return testing::golden_stream().slice(0, 0, 16);
}

TEST(Rotta, PredictsTheFirstWindowAsTheSourceModel) {
  const auto adapter = make();
  const auto& model = adapter->model();
  const at::Tensor expected =
      model.forward(first_window(), model.source(), NormStats::running())
          .logits;
  EXPECT_TRUE(adapter->step(first_window()).logits.equal(expected));
}

// What the memory holds is taken from the memory; its own tests say whether
// that is right.
TEST(Rotta, TheFirstUpdateByItsFormulas) {
  MethodContext context = tiny_context();
  context.measure_loss_after = true;
  const auto adapter = make_adapter("rotta", context, Preset::kClean,
                                    {{"memory_capacity", int64_t{16}}});
  const auto& model = adapter->model();
  const ModelState& source = model.source();
  const StepResult result = adapter->step(first_window());
  const Snapshot after = adapter->snapshot();

  const auto samples = adapter->memory_samples();
  const at::Tensor memory =
      first_window().index_select(0, at::tensor(samples, at::kLong));
  const at::Tensor pixels = memory.to(at::kFloat).div(255);
  const at::Tensor ages = at::tensor(memory_ages(after), at::kFloat) / 16;
  Rng rng = Rng(5).child("augment");
  const auto stats = NormStats::blended(0.05);
  const auto teacher = model.forward(pixels, source, stats);
  const at::Tensor view = augment(pixels, rng);
  const auto student = model.forward(view, source, stats);
  const at::Tensor weights = (-ages).exp() / (1 + (-ages).exp());
  const auto loss_of = [&](const at::Tensor& logits) {
    return (weights * distillation_loss(logits, teacher.logits))
        .mean()
        .item<double>();
  };
  ModelState moved = source;
  moved.affine = after.tensors.at("student_affine");

  const UpdateReport& update = result.updates.at(0);
  EXPECT_NEAR(number(update.loss), loss_of(student.logits), 1e-6);
  EXPECT_NEAR(number(update.loss_after),
              loss_of(model.forward(view, moved, stats).logits), 1e-6);
  EXPECT_TRUE(
      close(after.tensors.at("teacher_running_mean"), teacher.batch_mean));
  EXPECT_TRUE(
      close(after.tensors.at("student_running_var"), student.batch_var));
  // Adam's first step moves every parameter by the learning rate, and the
  // teacher follows by a thousandth of that.
  const at::Tensor step =
      (after.tensors.at("student_affine") - source.affine).abs();
  EXPECT_LE(step.max().item<double>(), 1.001e-3);
  EXPECT_GT(step.max().item<double>(), 0.99e-3);
  EXPECT_TRUE(close(
      after.tensors.at("teacher_affine"),
      0.999 * source.affine + 0.001 * after.tensors.at("student_affine")));
}

// The first norm layer sees the memory itself.
TEST(Rotta, RateMomentumAndShareAreWhatTheyAreTold) {
  const auto adapter = make({{"learning_rate", 0.004},
                             {"teacher_momentum", 0.75},
                             {"batch_share", 0.3},
                             {"quota_first", false}});
  const auto& model = adapter->model();
  const ModelState& source = model.source();
  adapter->step(first_window());
  EXPECT_EQ(adapter->memory_samples().size(), 16u);
  const auto now = adapter->snapshot().tensors;
  const at::Tensor& student = now.at("student_affine");
  EXPECT_NEAR((student - source.affine).abs().max().item<double>(), 0.004,
              1e-5);
  EXPECT_TRUE(
      close(now.at("teacher_affine"), 0.75 * source.affine + 0.25 * student));
  EXPECT_EQ(adapter->method().statistics_share(), 0.3);
  const auto blended =
      model.forward(first_window(), source, NormStats::blended(0.3));
  EXPECT_TRUE(close(now.at("teacher_running_mean"), blended.batch_mean, 1e-5));
  EXPECT_TRUE(close(now.at("teacher_running_var"), blended.batch_var, 1e-5));
  const at::Tensor batch =
      model.forward(first_window(), source, NormStats::batch()).batch_mean;
  const auto first = [&](const at::Tensor& vector) {
    return vector.slice(0, 0, model.norm_layers()[0].channels);
  };
  EXPECT_TRUE(close(first(now.at("teacher_running_mean")),
                    0.7 * first(source.running_mean) + 0.3 * first(batch),
                    1e-5));
}

TEST(Rotta, TheTeacherIsWhatPredictsAndIsExported) {
  const auto adapter = make();
  adapter->step(first_window());
  const Snapshot now = adapter->snapshot();
  EXPECT_TRUE(adapter->state().affine.equal(now.tensors.at("teacher_affine")));
  const at::Tensor expected =
      adapter->model()
          .forward(first_window(), adapter->state(), NormStats::running())
          .logits;
  EXPECT_TRUE(adapter->step(first_window()).logits.equal(expected));
}

TEST(Rotta, TheBodyStaysTheSource) {
  const auto adapter = make();
  adapter->step(first_window());
  EXPECT_TRUE(adapter->state().body.is_same(adapter->model().source().body));
}

TEST(Rotta, TheTeacherFollowsEvenWithAnEmptyMemory) {
  const auto adapter = make({{"teacher_momentum", 1.0}});
  adapter->step(first_window());  // moves the student only
  Snapshot state = adapter->snapshot();
  EXPECT_TRUE(state.tensors.at("teacher_affine")
                  .equal(adapter->model().source().affine));
  state.tensors["memory.items"] = at::tensor(std::vector<int64_t>{}, at::kLong);

  RottaOptions options;
  options.teacher_momentum = 0;
  const auto method = make_rotta(tiny_context(), options);
  for (const auto* own : {"adapter.pending", "adapter.samples",
                          "adapter.updates", "adapter.verdicts"})
    state.tensors.erase(own);
  auto archive = StateArchive::from(state);
  method->exchange(archive);
  archive.commit();

  const UpdateReport report = method->update();
  EXPECT_FALSE(report.applied);
  EXPECT_EQ(report.skipped, "the memory is empty");
  EXPECT_TRUE(
      close(method->state().affine, state.tensors.at("student_affine")));
}

// Its updates are captured once the memory is full, and not while it fills.
TEST(Rotta, LearnsTheSameWhereItsUpdatesAreCaptured) {
  const OptionMap changes = {{"memory_capacity", int64_t{40}},
                             {"quota_first", false}};
  MethodContext context = tiny_context();
  const auto plain = make_adapter("rotta", context, Preset::kClean, changes);
  context.executor = testing::capturing_executor(context);
  const auto captured = make_adapter("rotta", context, Preset::kClean, changes);
  for (const int round : {1, 2}) {  // the second with what the first captured
    std::vector<size_t> sizes;
    for (int64_t i = 0; i < 6; ++i) {
      const at::Tensor window =
          testing::golden_stream().slice(0, 16 * i, 16 * (i + 1));
      const StepResult wanted = plain->step(window),
                       found = captured->step(window);
      EXPECT_TRUE(found.logits.equal(wanted.logits)) << round << ", " << i;
      EXPECT_EQ(number(found.updates[0].loss), number(wanted.updates[0].loss));
      EXPECT_EQ(number(found.updates[0].parameter_change),
                number(wanted.updates[0].parameter_change));
      sizes.push_back(captured->memory_samples().size());
    }
    EXPECT_EQ(sizes, (std::vector<size_t>{16, 32, 40, 40, 40, 40}));
    const Snapshot wanted = plain->snapshot(), found = captured->snapshot();
    for (const auto& [name, tensor] : wanted.tensors)
      EXPECT_TRUE(found.tensors.at(name).equal(tensor)) << name;
    plain->reset();
    captured->reset();
  }
}

TEST(Rotta, RefusedSamplesAreAMatterOfClassBalance) {
  const auto adapter = make({{"memory_capacity", int64_t{5}}});
  const auto verdicts = adapter->step(first_window()).verdicts;
  const auto kept = testing::admitted(verdicts);
  EXPECT_GT(std::count(kept.begin(), kept.end(), 0), 0);
  for (const Verdict verdict : verdicts)
    EXPECT_TRUE(verdict == Verdict::kAdmitted ||
                verdict == Verdict::kClassBalance);
}

TEST(Rotta, PresetsDifferInTheQuota) {
  EXPECT_TRUE(RottaOptions::preset(Preset::kClean, 10).quota_first);
  EXPECT_FALSE(RottaOptions::preset(Preset::kPaper, 10).quota_first);
}

TEST(Rotta, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    EXPECT_THROW(make({{name, value}}), Error) << name;
  };
  refuses("memory_capacity", int64_t{0});
  refuses("batch_share", 1.1);
  refuses("teacher_momentum", -0.1);
  refuses("learning_rate", 0.0);
}

}  // namespace
}  // namespace sotta
