#include "sotta/eval/run_stream.h"

#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "eval/gradient_probe.h"
#include "models/resnet.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

std::shared_ptr<const Classifier> small_network(int64_t classes = 4) {
  ResNetSpec spec;
  spec.widths = {4, 8};
  spec.blocks = {1, 1};
  spec.channels = 1;
  spec.classes = classes;
  return make_resnet(spec, random_resnet_state(spec, Rng(5)), {{0.5}, {0.2}});
}

StreamSources small_sources(const Classifier& model) {
  const at::Tensor images = at::randint(256, {20, 1, 8, 8}).to(at::kByte);
  const at::Tensor labels =
      model.forward(images, model.source(), NormStats::running())
          .logits.argmax(1);
  StreamSources sources;
  sources.name = "test";
  sources.domains = {{"clean", std::make_shared<TensorDataset>(
                                   LabelledImages{images, labels}, 4, "test")}};
  return sources;
}

// Five windows of eight: 20 images the model gets right, 20 foreign ones.
RunTask small_task(const std::string& method, const std::string& scenario,
                   const OptionMap& changes = {}) {
  RunTask task;
  task.method = method;
  task.context.model = small_network();
  task.context.update_interval = 8;
  task.make = [method, changes](const MethodContext& context) {
    return make_method(method, context, Preset::kClean, changes);
  };
  StreamOptions options;
  options.scenario = scenario;
  options.window = 8;
  task.sources = small_sources(*task.context.model);
  task.plan = std::make_shared<const StreamPlan>(options, task.sources);
  task.attack.steps = 1;
  return task;
}

TEST(RunStream, SourceGetsWhatItIsMadeToGetRight) {
  const RunResult result = run_stream(small_task("source", "noise"));
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(result.record.method, "source");
  EXPECT_EQ(result.record.samples, 20);
  EXPECT_EQ(result.record.correct, 20);
  EXPECT_EQ(result.record.foreign, 20);
  EXPECT_EQ(result.record.series.at("accuracy").size(), 5u);
  EXPECT_GT(result.record.seconds, 0);
  EXPECT_NEAR(result.record.images_per_second * result.record.seconds, 40,
              1e-6);
  EXPECT_GT(result.record.peak_memory_bytes, 0);
}

TEST(RunStream, GivesWhatTheBareLoopGives) {
  const RunTask task = small_task("sotta", "noise", {{"min_confidence", 0.3}});
  const RunRecord record = run_stream(task).record;

  Adapter adapter("sotta", task.make(task.context), task.context);
  Stream stream(task.plan, task.sources);
  int64_t correct = 0, admitted = 0, position = 0;
  while (stream.position() < stream.size()) {
    const StepResult result = adapter.step(stream.next(8));
    for (size_t i = 0; i < result.verdicts.size(); ++i, ++position) {
      const SampleTruth& truth = (*task.plan)[position];
      const auto predicted = result.prediction.labels.data_ptr<int64_t>()[i];
      correct += truth.benign() && predicted == truth.label ? 1 : 0;
      admitted += result.verdicts[i] == Verdict::kAdmitted ? 1 : 0;
    }
  }
  EXPECT_EQ(record.correct, correct);
  EXPECT_EQ(record.admitted + record.admitted_foreign, admitted);
  EXPECT_GT(admitted, 0);
  EXPECT_GT(record.adapt_seconds, 0);
  EXPECT_LT(record.adapt_seconds, record.seconds);
  EXPECT_FALSE(std::isnan(record.series.at("loss").at(0)));
}

// Attacked samples are made for each window as it comes, and single gradients
// are looked at before the method learns from it.
TEST(RunStream, GivesWhatTheBareLoopGivesUnderAttack) {
  RunTask task = small_task("tent", "attack");
  task.attack.eps = 0.3;
  task.attack.steps = 2;
  task.attack.step_size = 0.1;
  task.gradient_samples = 2;
  const RunRecord record = run_stream(task).record;

  Adapter adapter("tent", task.make(task.context), task.context);
  Stream stream(task.plan, task.sources);
  GradientProbe probe(2);
  for (int64_t begin = 0; begin < stream.size(); begin += 8) {
    const at::Tensor images = stream.next(8);
    const WindowTruth truth = task.plan->truth(begin, begin + 8);
    const at::Tensor crafted =
        craft(adapter, {images, truth.attacker, truth.labels}, task.attack)
            .images;
    probe.look(adapter, crafted, *task.plan, begin);
    const StepResult result = adapter.step(crafted);
    EXPECT_EQ(record.series.at("loss").at(static_cast<size_t>(begin / 8)),
              result.updates.at(0).loss.item<double>());
  }
  Series expected;
  probe.fill(expected);
  EXPECT_EQ(record.series.at("gradient_norm_samples"),
            expected.at("gradient_norm_samples"));
  EXPECT_EQ(record.series.at("gradient_norm_foreign"),
            expected.at("gradient_norm_foreign"));
}

TEST(RunStream, SaysWhatTheMemoryHeld) {
  // The last six of the stream, whatever they are.
  const RunTask task = small_task(
      "sotta", "noise",
      {{"memory", std::string("fifo")}, {"memory_capacity", int64_t{6}}});
  const RunRecord record = run_stream(task).record;

  for (size_t window = 0; window < 5; ++window) {
    double benign = 0;
    for (size_t i = 8 * window + 2; i < 8 * window + 8; ++i)
      benign += (*task.plan)[static_cast<int64_t>(i)].benign() ? 1 : 0;
    EXPECT_EQ(record.series.at("memory_samples").at(window), benign);
    EXPECT_EQ(record.series.at("memory_foreign").at(window), 6 - benign);
  }
}

TEST(RunStream, KeepsWhatTheRecordSaidBefore) {
  RunTask task = small_task("source", "benign");
  task.record.dataset = "test";
  task.record.seed = 9;
  task.shared_seconds = 100;
  const RunRecord record = run_stream(task).record;
  EXPECT_EQ(record.dataset, "test");
  EXPECT_EQ(record.seed, 9);
  EXPECT_GE(record.seconds, 100);
  EXPECT_LT(record.adapt_seconds, 100);
  EXPECT_NEAR(record.images_per_second * record.seconds, 20, 1e-6);
}

TEST(RunStream, AttackedSamplesDoNotCount) {
  const RunRecord record = run_stream(small_task("bn_stats", "attack")).record;
  EXPECT_EQ(record.samples, 20);
  EXPECT_EQ(record.foreign, 20);
}

TEST(RunStream, AnAttackReachesAWindowStatisticsMethod) {
  RunTask task = small_task("tent", "attack");
  const auto loss_at = [&](double eps) {
    task.attack.eps = eps;
    return run_stream(task).record.series.at("loss").at(0);
  };
  EXPECT_NE(loss_at(1e-6), loss_at(0.1));
}

TEST(RunStream, ReportsWindowsAndStopsWhenAsked) {
  int calls = 0;
  const RunResult result =
      run_stream(small_task("source", "noise"), [&](const Progress& progress) {
        EXPECT_EQ(progress.total, 5);
        EXPECT_EQ(progress.done, ++calls);
        return calls < 2;
      });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.record.samples + result.record.foreign, 16);
}

TEST(RunStream, MeasuresSingleGradientsIfAsked) {
  RunTask task = small_task("tent", "noise");
  EXPECT_EQ(run_stream(task).record.series.count("gradient_norm_foreign"), 0u);
  task.gradient_samples = 1;
  const RunRecord record = run_stream(task).record;
  EXPECT_EQ(record.series.at("gradient_norm_foreign").size(), 5u);
}

TEST(RunStream, RefusesAModelThatDoesNotFit) {
  RunTask task = small_task("source", "benign");
  task.context.model = small_network(5);
  expect_error(ErrorKind::kInvalid, "classes", [&] { run_stream(task); });
  task = small_task("source", "benign");
  task.context.update_interval = 4;
  expect_error(ErrorKind::kInvalid, "window", [&] { run_stream(task); });
}

TEST(RunStream, TellsTheAccuracySoFar) {
  std::vector<std::string> notes;
  run_stream(small_task("source", "benign"), [&](const Progress& progress) {
    notes.push_back(std::to_string(progress.done) + "/" +
                    std::to_string(progress.total) + " " + progress.note);
    return true;
  });
  EXPECT_EQ(notes, (std::vector<std::string>{"1/3 accuracy 100.00 %",
                                             "2/3 accuracy 100.00 %",
                                             "3/3 accuracy 100.00 %"}));
}

TEST(RunStream, NamesBothIntervals) {
  RunTask task = small_task("source", "benign");
  task.context.update_interval = 4;
  expect_error(ErrorKind::kInvalid,
               "window: expected the method's interval between updates, 4, got "
               "8",
               [&] { run_stream(task); });
}

TEST(RunStream, AWindowWithoutAnAttackerIsSeenAsItIs) {
  RunTask task = small_task("source", "attack");
  RunTask plain = small_task("source", "benign");
  task.attack.mode = "none";  // refused by any attempt to craft
  expect_error(ErrorKind::kInvalid, "attack", [&] { run_stream(task); });
  plain.attack.mode = "none";
  EXPECT_EQ(run_stream(plain).record.samples, 20);
}

}  // namespace
}  // namespace sotta
