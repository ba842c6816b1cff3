#include "sotta/eval/workbench.h"

#include <cmath>
#include <filesystem>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/data/dataset.h"

#include "data/sets/catalog.h"
#include "eval/source_images.h"
#include "record/run_identity.h"
#include "tests/eval/tiny_bench.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::timeless;
using testing::TinyBench;

Cell first_cell(const Grid& grid) {
  return expand(grid).front();
}

WorkbenchOptions options_of(const TinyBench& tiny) {
  WorkbenchOptions options;
  options.data_root = tiny.root();
  return options;
}

RunRecord run(const Cell& cell, const TinyBench& tiny) {
  Workbench bench(options_of(tiny));
  return run_cell(cell, bench).record;
}

TEST(Workbench, RunsACellAndSaysWhatItWas) {
  const TinyBench tiny;
  const RunRecord record = run(first_cell(tiny.grid()), tiny);
  EXPECT_EQ(record.method, "bn_stats");
  EXPECT_EQ(record.scenario, "noise");
  EXPECT_EQ(record.samples, 20);
  EXPECT_EQ(record.foreign, 20);
  EXPECT_EQ(record.device, "cpu");
  EXPECT_EQ(record.engine, "libtorch");
  EXPECT_EQ(record.threads, at::get_num_threads());
  EXPECT_EQ(std::get<std::string>(record.options.at("model_checksum")).size(),
            16u);
}

// The dataset's constants are for weights that do not say it themselves.
TEST(Workbench, NormalisesAsTheWeightsSayElseAsTheDatasetDoes) {
  const TinyBench tiny;
  const auto mean_of = [&] {
    Workbench bench(options_of(tiny));
    return bench.prepare(first_cell(tiny.grid()))
        .context.model->normalisation()
        .mean;
  };
  EXPECT_EQ(mean_of(), (std::vector<double>{0.5, 0.5, 0.5}));
  TensorFile weights = read_safetensors(tiny.model());
  weights.metadata.clear();
  write_safetensors(tiny.model() + ".new", weights);
  std::filesystem::rename(tiny.model() + ".new", tiny.model());
  EXPECT_EQ(mean_of(), (std::vector<double>{0.4914, 0.4822, 0.4465}));
}

TEST(Workbench, ARunHasTheIdentityThatWasAnnounced) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  const Cell cell = first_cell(tiny.grid());
  EXPECT_EQ(run_identity(bench.describe(cell)),
            run_identity(run_cell(cell, bench).record));
}

TEST(Workbench, OnlyAnotherPrecisionThanFloat32IsPartOfTheIdentity) {
  const TinyBench tiny;
  const Cell cell = first_cell(tiny.grid());
  const RunRecord plain = Workbench(options_of(tiny)).describe(cell);
  EXPECT_EQ(plain.options.count("precision"), 0u);

  WorkbenchOptions options = options_of(tiny);
  options.precision = Precision::kBfloat16;
  Workbench bench(options);
  const RunRecord coarse = run_cell(cell, bench).record;
  EXPECT_EQ(std::get<std::string>(coarse.options.at("precision")), "bf16");
  EXPECT_NE(run_identity(coarse), run_identity(plain));
  EXPECT_NE(coarse.calibration_error, run(cell, tiny).calibration_error);
}

// No GPU is needed to be told.
TEST(Workbench, RefusesToCaptureWhatDisturbsThreadsThatCapture) {
  const TinyBench tiny;
  WorkbenchOptions options = options_of(tiny);
  options.device = at::Device(at::kCUDA, 0);
  options.cuda_graphs = true;
  options.jobs = 2;
  expect_error(ErrorKind::kInvalid, "with fp32 expected one job, got 2",
               [&] { Workbench bench(options); });
  options.precision = Precision::kTf32;
  EXPECT_NO_THROW(Workbench bench(options));
  options.jobs = 32;
  EXPECT_NO_THROW(Workbench bench(options));
  options.jobs = 33;
  expect_error(ErrorKind::kInvalid, "expected at most 32 jobs, got 33",
               [&] { Workbench bench(options); });
}

TEST(Workbench, SharedWorkChangesNothing) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.rows = {{"", "source", {}}, {"", "lame", {}}, {"", "eata", {}}};
  grid.corruptions = {"gaussian_noise"};
  const auto cells = expand(grid);
  Workbench shared(options_of(tiny));
  for (const Cell& cell : cells)
    EXPECT_EQ(to_json(timeless(run_cell(cell, shared).record)),
              to_json(timeless(run(cell, tiny))))
        << cell.method;
}

TEST(Workbench, AGuardDoesNotChangeWhatTheSourceModelSees) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.rows = {{"", "source", {}}};
  Cell cell = first_cell(grid);
  const RunRecord free = run(cell, tiny);
  cell.guard.action = "reset";
  cell.guard.history = 1;
  cell.guard.max_class_share = 0.01;  // trips in every window
  const RunRecord guarded = run(cell, tiny);
  EXPECT_EQ(guarded.correct, free.correct);
  EXPECT_EQ(guarded.calibration_error, free.calibration_error);
}

// The cell by hand: the method, perhaps behind ODIN, window by window. Gives
// how many are right and the losses.
struct ByHand {
  int64_t correct = 0;
  int64_t admitted = 0;
  std::vector<double> losses;
};

ByHand by_hand(const Cell& cell, const TinyBench& tiny) {
  Workbench bench(options_of(tiny));
  const RunTask task = bench.prepare(cell);
  auto method = make_method(cell.method, task.context, Preset::kClean,
                            cell.method_changes);
  if (cell.odin.threshold > 0)
    method = make_odin_screen(task.context, cell.odin, std::move(method));
  Adapter adapter(cell.method, std::move(method), task.context, cell.guard);
  Stream stream(task.plan, task.sources);
  ByHand result;
  while (stream.position() < stream.size()) {
    const int64_t begin = stream.position();
    const StepResult step = adapter.step(stream.next(cell.stream.window));
    for (size_t i = 0; i < step.verdicts.size(); ++i) {
      const SampleTruth& truth = (*task.plan)[begin + static_cast<int64_t>(i)];
      result.correct +=
          step.prediction.labels.data_ptr<int64_t>()[i] == truth.label;
      result.admitted += step.verdicts[i] == Verdict::kAdmitted;
    }
    for (const auto& update : step.updates)
      if (update.loss.defined())
        result.losses.push_back(update.loss.item<double>());
  }
  return result;
}

std::vector<double> losses_of(const RunRecord& record) {
  std::vector<double> losses;
  for (const double loss : record.series.at("loss"))
    if (!std::isnan(loss)) losses.push_back(loss);
  return losses;
}

TEST(Workbench, TheGuardOfACellIsAtWork) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.rows = {{"", "tent", {{"learning_rate", "0.1"}}}};
  Cell cell = first_cell(grid);
  const RunRecord free = run(cell, tiny);
  cell.guard.action = "reset";
  cell.guard.history = 1;
  cell.guard.max_class_share = 0.01;  // trips in every window
  const RunRecord guarded = run(cell, tiny);
  EXPECT_EQ(losses_of(guarded), by_hand(cell, tiny).losses);
  EXPECT_NE(losses_of(guarded), losses_of(free));
}

// Source and LAME take what the model said of the whole stream only where
// they would have asked it the same.
TEST(Workbench, SharesTheSourceModelsOutputsOnlyWhereTheyAreAskedFor) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  const auto shares = [&](const std::string& method, const auto& change) {
    Cell cell = first_cell(tiny.grid());
    cell.method = method;
    change(cell);
    return bench.prepare(cell).shared_seconds > 0;
  };
  const auto same = [](Cell&) {};
  const auto screened = [](Cell& cell) { cell.odin.threshold = 0.1; };
  const auto attacked = [](const char* mode) {
    return [mode](Cell& cell) {
      cell.stream.scenario = "attack";
      cell.attack.mode = mode;
    };
  };
  for (const char* method : {"source", "lame"}) {
    EXPECT_TRUE(shares(method, same)) << method;
    EXPECT_FALSE(shares(method, screened)) << method;
    EXPECT_TRUE(shares(method, attacked("paper"))) << method;
    EXPECT_FALSE(shares(method, attacked("surrogate"))) << method;
    EXPECT_FALSE(shares(method, attacked("adaptive"))) << method;
  }
  EXPECT_FALSE(shares("bn_stats", same));
}

TEST(Workbench, AScreenedMethodGivesWhatItGivesByHand) {
  const TinyBench tiny;
  Cell cell = first_cell(tiny.grid());
  cell.odin.temperature = 1;
  // Half of the first window's scores lie below.
  Workbench bench(options_of(tiny));
  const RunTask task = bench.prepare(cell);
  const at::Tensor scores =
      odin_scores(*task.context.executor,
                  Stream(task.plan, task.sources).next(16), cell.odin);
  cell.odin.threshold = scores.median().item<double>();
  for (const char* method : {"source", "lame", "tent"}) {
    cell.method = method;
    const RunRecord record = run(cell, tiny);
    const ByHand expected = by_hand(cell, tiny);
    EXPECT_EQ(record.correct, expected.correct) << method;
    EXPECT_EQ(record.admitted + record.admitted_foreign, expected.admitted);
    EXPECT_EQ(losses_of(record), expected.losses) << method;
  }
}

TEST(Workbench, AMethodsRandomNumbersAreThoseOfTheSeed) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  for (const int64_t seed : {0, 7}) {
    Cell cell = first_cell(tiny.grid());
    cell.stream.seed = seed;
    Rng drawn = bench.prepare(cell).context.rng;
    EXPECT_EQ(drawn.next(), Rng(static_cast<uint64_t>(seed)).next());
  }
}

// Everything of a task that a cell's stream decides.
std::string stream_of(const Cell& cell, Workbench& bench) {
  const RunTask task = bench.prepare(cell);
  Stream stream(task.plan, task.sources);
  const at::Tensor images = stream.next(stream.size()).contiguous();
  const at::Tensor source = task.context.source_images.contiguous();
  const auto bytes = [](const at::Tensor& tensor) {
    return std::string(
        reinterpret_cast<const char*>(tensor.data_ptr<uint8_t>()),
        static_cast<size_t>(tensor.numel()));
  };
  return bytes(images) + bytes(source) + std::to_string(task.plan->windows()) +
         std::to_string(task.context.update_interval);
}

// What cells share must not be shared by cells that differ in one option.
TEST(Workbench, EveryOptionOfAStreamReachesItThroughWhatIsShared) {
  const TinyBench tiny;
  Workbench shared(options_of(tiny));
  const Cell plain = [&] {
    Grid grid = tiny.grid();
    grid.corruptions = {"gaussian_noise"};
    return first_cell(grid);
  }();
  const std::string before = stream_of(plain, shared);
  const auto expect_change = [&](const auto& change) {
    Cell cell = plain;
    change(cell.stream);
    Workbench fresh(options_of(tiny));
    EXPECT_EQ(stream_of(plain, shared), before);  // is held when `cell` asks
    const std::string stream = stream_of(cell, shared);
    EXPECT_EQ(stream, stream_of(cell, fresh));
    EXPECT_NE(stream, before);
  };
  using O = StreamOptions;
  expect_change([](O& o) { o.scenario = "benign"; });
  expect_change([](O& o) { o.scenario = "attack"; });
  expect_change([](O& o) { o.scenario = "far"; });
  expect_change([](O& o) {
    o.scenario = "far";
    o.foreign = "cifar10:test";
  });
  expect_change([](O& o) { o.foreign_count = 7; });
  expect_change([](O& o) { o.foreign_share = 0.3; });
  expect_change([](O& o) { o.burst = 5; });
  expect_change([](O& o) { o.limit = 19; });
  expect_change([](O& o) { o.order = "dirichlet"; });
  expect_change([](O& o) { o.corruptions = "shot_noise"; });
  expect_change([](O& o) { o.corruptions.clear(); });
  expect_change([](O& o) { o.severity = 3; });
  expect_change([](O& o) { o.corruption_seed = 4; });
  expect_change([](O& o) { o.window = 8; });
  expect_change([](O& o) { o.whole_windows = true; });
  expect_change([](O& o) { o.seed = 1; });
}

TEST(Workbench, EveryPartOfACellReachesItsTask) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  cell.guard.history = 3;
  cell.attack.steps = 4;
  cell.gradient_samples = 5;
  const RunTask task = bench.prepare(cell);
  EXPECT_EQ(task.method, "bn_stats");
  EXPECT_EQ(task.guard.history, 3);
  EXPECT_EQ(task.attack.steps, 4);
  EXPECT_EQ(task.gradient_samples, 5);
  EXPECT_EQ(task.context.update_interval, 16);
  EXPECT_FALSE(task.context.executor->options().cuda_graphs);
  WorkbenchOptions options = options_of(tiny);
  options.cuda_graphs = true;
  EXPECT_TRUE(
      Workbench(options).prepare(cell).context.executor->options().cuda_graphs);
}

TEST(Workbench, ScreensWithOdinIfAThresholdIsSet) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.rows = {{"all flagged", "tent", {{"odin_threshold", "0.999"}}}};
  const RunRecord record = run(first_cell(grid), tiny);
  EXPECT_EQ(record.admitted + record.admitted_foreign, 0);
}

TEST(Workbench, FindsForeignImagesOfAnotherSet) {
  const TinyBench tiny;
  Grid grid = tiny.grid();
  grid.scenarios = {"far"};
  grid.stream.foreign = "mnist:test";
  const RunRecord record = run(first_cell(grid), tiny);
  EXPECT_EQ(record.foreign, 20);
  EXPECT_EQ(std::get<std::string>(record.options.at("foreign")), "mnist:test");
}

TEST(Workbench, MixesForeignImagesIntoThePapersSourceImages) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  const auto images = [&] {
    return bench.prepare(cell).context.source_images.size(0);
  };
  EXPECT_EQ(images(), 48);  // the dataset's
  cell.preset = "paper";
  EXPECT_EQ(images(), 40);  // the stream's, half of them foreign
  cell.stream.scenario = "benign";
  EXPECT_EQ(images(), 48);  // nothing to mix in
}

TEST(Workbench, GivesTwoThousandSourceImagesAtMost) {
  const TinyBench tiny(2100);
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  cell.stream.seed = 3;
  const RunTask task = bench.prepare(cell);
  const auto dataset = open_dataset("cifar10", tiny.root());
  EXPECT_TRUE(task.context.source_images.equal(
      draw_source_images(*dataset, 2000, Rng(3).child("source_images"))));
}

TEST(Workbench, RunsTheEngineThatIsAskedFor) {
  const TinyBench tiny;
  WorkbenchOptions options = options_of(tiny);
  options.engine.name = "none";
  expect_error(ErrorKind::kInvalid, "engine",
               [&] { Workbench(options).describe(first_cell(tiny.grid())); });
}

// Weights that do not say how images are normalised are taken to be made for
// the dataset.
TEST(Workbench, NormalisesAsTheDatasetSaysWhereTheWeightsAreSilent) {
  const TinyBench tiny;
  TensorFile weights = read_safetensors(tiny.model());
  weights.metadata.clear();
  Cell cell = first_cell(tiny.grid());
  cell.model = (tiny.root() / "silent.safetensors").string();
  write_safetensors(cell.model, weights);
  Workbench bench(options_of(tiny));
  const auto model = bench.prepare(cell).context.model;
  EXPECT_EQ(model->normalisation().mean, find_dataset("cifar10").mean);
  EXPECT_EQ(model->normalisation().std, find_dataset("cifar10").std);
}

TEST(Workbench, KnowsOneModelFromAnother) {
  const TinyBench tiny, other(/*images=*/48, /*model_seed=*/6);
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  const RunRecord first = bench.describe(cell);
  cell.model = other.model();
  const RunRecord second = bench.describe(cell);
  EXPECT_NE(run_identity(first), run_identity(second));
  const auto body = [&](const Cell& one) {
    return bench.prepare(one).context.model->source().body;
  };
  EXPECT_FALSE(body(cell).equal(body(first_cell(tiny.grid()))));

  // Also where both are asked for the same stream.
  cell.method = "source";
  const std::string alone = to_json(timeless(run(cell, tiny)));
  Cell before = cell;
  before.model = tiny.model();
  EXPECT_NE(to_json(timeless(run_cell(before, bench).record)), alone);
  EXPECT_EQ(to_json(timeless(run_cell(cell, bench).record)), alone);
}

TEST(Workbench, CheckFindsWhatIsMissing) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  bench.check(cell);

  cell.model = "none.safetensors";
  expect_error(ErrorKind::kNotFound, "none.safetensors",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.stream.scenario = "near";
  expect_error(ErrorKind::kNotFound, "cifar100", [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.method = "sotta";
  cell.method_changes["min_confidence"] = 2.0;
  expect_error(ErrorKind::kInvalid, "min_confidence",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.odin.threshold = -1;
  expect_error(ErrorKind::kInvalid, "odin_threshold",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.guard.action = "stop";
  expect_error(ErrorKind::kInvalid, "guard", [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.attack.mode = "none";
  expect_error(ErrorKind::kInvalid, "attack", [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.gradient_samples = -1;
  expect_error(ErrorKind::kInvalid, "gradient_samples",
               [&] { bench.check(cell); });

  cell = first_cell(tiny.grid());
  cell.dataset = "mnist";
  expect_error(ErrorKind::kInvalid, "channels", [&] { bench.check(cell); });
}

}  // namespace
}  // namespace sotta
