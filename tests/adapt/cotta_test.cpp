#include "adapt/methods/cotta.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "sotta/core/error.h"
#include "sotta/nn/losses.h"

#include "nn/augment.h"
#include "nn/random_tensor.h"
#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::close;
using testing::number;
using testing::Trace;

class CottaGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(CottaGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  const auto make = [&] {
    return make_adapter("cotta", trace.context(), Preset::kClean,
                        trace.options());
  };
  auto adapter = make();
  const auto stream_position = [&] {
    return adapter->snapshot().tensors.at("augment.rng");
  };
  for (int64_t window = 0; window < 10; ++window) {
    const at::Tensor before = stream_position();
    const StepResult result = adapter->step(trace.window(window));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter, make);
    testing::expect_result(trace, window, result);
    // Only augmented views draw.
    EXPECT_EQ(!stream_position().equal(before),
              trace.at("augmented", window).item<bool>())
        << "window " << window;

    const auto now = adapter->snapshot().tensors;
    EXPECT_TRUE(trace.matches("affine", window, now.at("student_affine")));
    EXPECT_TRUE(
        trace.matches("teacher_affine", window, now.at("teacher_affine")));
    if (window != 0 && window != 4 && window != 9) continue;
    const int64_t stored = window == 0 ? 0 : window == 4 ? 1 : 2;
    EXPECT_TRUE(trace.matches("body", stored, now.at("student_body")));
    EXPECT_TRUE(trace.matches("teacher_body", stored, now.at("teacher_body")));
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, CottaGolden,
                         ::testing::Values("cotta_clean", "cotta_paper"),
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

// Never augments unless told to: the teacher's answer is a plain pass.
std::unique_ptr<Adapter> make(OptionMap changes = {},
                              const GuardOptions& guard = {}) {
  changes.insert({"anchor_confidence", 0.0});
  return make_adapter("cotta", tiny_context(), Preset::kClean, changes, guard);
}

at::Tensor images(int64_t begin, int64_t end) {
  return testing::golden_stream().slice(0, begin, end);
}

at::Tensor source_logits(const Adapter& adapter, const at::Tensor& pixels) {
  const auto& model = adapter.model();
  return model.forward(pixels, model.source(), NormStats::batch()).logits;
}

TEST(Cotta, ASureAnchorLeavesTheTeacherWithThePlainWindow) {
  const auto adapter = make();
  const at::Tensor expected = source_logits(*adapter, images(0, 16));
  EXPECT_TRUE(adapter->step(images(0, 16)).logits.equal(expected));
}

TEST(Cotta, AnUnsureAnchorAveragesViews) {
  const auto adapter =
      make({{"anchor_confidence", 1.0}, {"augmentations", int64_t{2}}});
  Rng rng = Rng(5).child("augment");
  const at::Tensor pixels = images(0, 16).to(at::kFloat).div(255);
  const at::Tensor first = source_logits(*adapter, augment(pixels, rng));
  const at::Tensor second = source_logits(*adapter, augment(pixels, rng));
  EXPECT_TRUE(close(adapter->step(images(0, 16)).logits, (first + second) / 2));
}

double source_confidence(const Adapter& adapter, const at::Tensor& pixels) {
  return source_logits(adapter, pixels)
      .softmax(1)
      .amax(1)
      .mean()
      .item<double>();
}

// A teacher without weights is sure of nothing; it is not asked.
TEST(Cotta, TheAnchorIsTheSourceModelNotTheTeacher) {
  const double sure = source_confidence(*make(), images(0, 16));
  ASSERT_GT(sure, 0.3);  // the teacher's will be 1/5
  const auto adapter = make({{"anchor_confidence", sure - 0.01}});
  Snapshot state = adapter->snapshot();
  state.tensors.at("teacher_body").zero_();
  adapter->restore(state);
  adapter->step(images(0, 16));
  EXPECT_TRUE(adapter->snapshot()
                  .tensors.at("augment.rng")
                  .equal(state.tensors.at("augment.rng")));
}

TEST(Cotta, AnAnchorAtTheThresholdIsSure) {
  const double sure = source_confidence(*make(), images(0, 16));
  for (const bool above : {false, true}) {
    const auto adapter =
        make({{"anchor_confidence", above ? std::nextafter(sure, 1) : sure},
              {"augmentations", int64_t{1}}});
    const at::Tensor before = adapter->snapshot().tensors.at("augment.rng");
    adapter->step(images(0, 16));
    EXPECT_EQ(adapter->snapshot().tensors.at("augment.rng").equal(before),
              !above);
  }
}

// Adam's first step is the learning rate; the teacher keeps what it is told.
TEST(Cotta, RateAndMomentumAreWhatTheyAreTold) {
  const auto adapter = make({{"restore_probability", 0.0},
                             {"anchor_confidence", 1.0},
                             {"augmentations", int64_t{1}},
                             {"learning_rate", 0.004},
                             {"teacher_momentum", 0.75}});
  const at::Tensor source = adapter->model().source().affine;
  adapter->step(images(0, 16));
  const auto now = adapter->snapshot().tensors;
  const at::Tensor& student = now.at("student_affine");
  EXPECT_NEAR((student - source).abs().max().item<double>(), 0.004, 1e-5);
  EXPECT_TRUE(close(now.at("teacher_affine"), 0.75 * source + 0.25 * student));
}

// Adam's first step moves every weight with a gradient by the learning rate.
// Without a view student and teacher would agree, and there would be none.
TEST(Cotta, TrainsAllWeightsAndTheTeacherFollows) {
  const auto adapter = make({{"restore_probability", 0.0},
                             {"anchor_confidence", 1.0},
                             {"augmentations", int64_t{1}}});
  const ModelState& source = adapter->model().source();
  const StepResult result = adapter->step(images(0, 16));
  const auto now = adapter->snapshot().tensors;
  for (const auto& [part, before] :
       {std::pair{"body", source.body}, std::pair{"affine", source.affine}}) {
    const at::Tensor& student = now.at(std::string("student_") + part);
    const at::Tensor step = (student - before).abs();
    EXPECT_LE(step.max().item<double>(), 1.001e-3) << part;
    EXPECT_GT(step.median().item<double>(), 0.99e-3) << part;
    EXPECT_TRUE(close(now.at(std::string("teacher_") + part),
                      0.999 * before + 0.001 * student))
        << part;
  }
  EXPECT_TRUE(result.updates.at(0).applied);
}

TEST(Cotta, MeasuresTheLossAfterTheStepIfAsked) {
  MethodContext context = tiny_context();
  context.measure_loss_after = true;
  const auto adapter = make_adapter("cotta", context, Preset::kClean,
                                    {{"anchor_confidence", 1.0},
                                     {"augmentations", int64_t{1}},
                                     {"restore_probability", 0.0}});
  const StepResult result = adapter->step(images(0, 16));
  const auto now = adapter->snapshot().tensors;
  ModelState student = adapter->model().source();
  student.body = now.at("student_body");
  student.affine = now.at("student_affine");
  const at::Tensor logits =
      adapter->model()
          .forward(images(0, 16), student, NormStats::batch())
          .logits;
  EXPECT_NEAR(number(result.updates.at(0).loss_after),
              distillation_loss(logits, result.logits).mean().item<double>(),
              1e-6);
  EXPECT_FALSE(make()->step(images(0, 16)).updates.at(0).loss_after.defined());
}

TEST(Cotta, RestoresTheStudentAfterTheTeacherHasFollowed) {
  const auto adapter =
      make({{"restore_probability", 1.0}, {"teacher_momentum", 0.0}});
  const ModelState& source = adapter->model().source();
  adapter->step(images(0, 16));
  const auto now = adapter->snapshot().tensors;
  EXPECT_TRUE(now.at("student_body").equal(source.body));
  EXPECT_TRUE(now.at("student_affine").equal(source.affine));
  EXPECT_FALSE(now.at("teacher_body").equal(source.body));
  EXPECT_FALSE(now.at("teacher_affine").equal(source.affine));
}

TEST(Cotta, RestoresWhatItsStreamChoosesBodyFirst) {
  const auto free = make({{"restore_probability", 0.0}});
  const auto restored = make({{"restore_probability", 0.3}});
  free->step(images(0, 16));
  restored->step(images(0, 16));
  const ModelState& source = free->model().source();
  const auto stepped = free->snapshot().tensors;
  const auto now = restored->snapshot().tensors;

  Rng rng = Rng(5).child("restore");
  const at::Tensor body = random_below(rng, source.body.sizes(), 0.3);
  const at::Tensor affine = random_below(rng, source.affine.sizes(), 0.3);
  EXPECT_NEAR(body.to(at::kFloat).mean().item<double>(), 0.3, 0.02);
  EXPECT_TRUE(now.at("student_body")
                  .equal(source.body.where(body, stepped.at("student_body"))));
  EXPECT_TRUE(
      now.at("student_affine")
          .equal(source.affine.where(affine, stepped.at("student_affine"))));
}

TEST(Cotta, AWindowInPartsIsAnsweredByPartAndLearnedWhole) {
  const auto adapter = make();
  const at::Tensor first = adapter->step(images(0, 6)).logits;
  const StepResult last = adapter->step(images(6, 16));
  EXPECT_TRUE(first.equal(source_logits(*adapter, images(0, 6))));
  EXPECT_TRUE(last.logits.equal(source_logits(*adapter, images(6, 16))));
  const at::Tensor loss =
      distillation_loss(source_logits(*adapter, images(0, 16)),
                        at::cat({first, last.logits}))
          .mean();
  EXPECT_NEAR(number(last.updates.at(0).loss), loss.item<double>(), 1e-6);
}

// The adapter of before knew them to be finite.
TEST(Cotta, AnswersOfASnapshotThatAreNotFiniteTeachNothing) {
  const auto adapter = make();
  adapter->step(images(0, 6));
  Snapshot state = adapter->snapshot();
  state.tensors.at("waiting_target")[2][1] = std::nanf("");
  adapter->restore(state);
  const StepResult result = adapter->step(images(6, 16));
  EXPECT_FALSE(result.updates.at(0).applied);
  EXPECT_EQ(result.verdicts, std::vector<Verdict>(10, Verdict::kNotFinite));
}

TEST(Cotta, AnUpdateThatAGuardTookBackLeavesNothing) {
  GuardOptions guard;
  guard.action = "skip";
  guard.max_parameter_change = 1e-9;
  const auto guarded = make({}, guard);
  const auto fresh = make();
  for (const int64_t size : {16, 8}) {  // whole windows, and in halves
    guarded->reset();
    for (int64_t begin = 0; begin < 16; begin += size)
      guarded->step(images(begin, begin + size));
    EXPECT_EQ(guarded->updates(), 0);
    const auto next = guarded->step(images(16, 32)).updates.at(0);
    fresh->reset();
    const auto expected = fresh->step(images(16, 32)).updates.at(0);
    EXPECT_EQ(number(next.loss), number(expected.loss)) << size;
  }
}

TEST(Cotta, AnUpdateWithoutAWindowIsSkipped) {
  const auto method =
      make_cotta(tiny_context(), CottaOptions::preset(Preset::kClean, 5));
  const UpdateReport report = method->update();
  EXPECT_FALSE(report.applied);
  EXPECT_EQ(report.skipped, "the window has no samples");
}

TEST(Cotta, PresetsFollowTheNumberOfClasses) {
  const auto threshold = [](int64_t classes) {
    return CottaOptions::preset(Preset::kClean, classes).anchor_confidence;
  };
  EXPECT_EQ(threshold(10), 0.92);
  EXPECT_EQ(threshold(100), 0.72);
  EXPECT_EQ(threshold(1000), 0.1);
  EXPECT_EQ(CottaOptions::preset(Preset::kClean, 10).weight_decay, 0);
  EXPECT_EQ(CottaOptions::preset(Preset::kPaper, 10).weight_decay, 5e-4);
  EXPECT_EQ(CottaOptions::preset(Preset::kPaper, 1000).weight_decay, 0);
}

TEST(Cotta, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    EXPECT_THROW(make({{name, value}}), Error) << name;
  };
  refuses("anchor_confidence", 1.1);
  refuses("augmentations", int64_t{0});
  refuses("teacher_momentum", 2.0);
  refuses("restore_probability", -0.1);
  refuses("learning_rate", std::nan(""));
  refuses("weight_decay", -1.0);
}

}  // namespace
}  // namespace sotta
