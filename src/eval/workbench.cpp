#include "sotta/eval/workbench.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/Parallel.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/engine/open_model.h"
#include "sotta/gpu/device.h"
#include "sotta/stream/scenario.h"

#include "core/checks.h"
#include "data/sets/catalog.h"
#include "eval/check_fit.h"
#include "eval/model_checksum.h"
#include "eval/run_cell.h"
#include "eval/shared_cache.h"
#include "eval/source_images.h"
#include "eval/source_outputs.h"
#include "gpu/device_queue.h"
#include "gpu/device_work.h"

namespace sotta {
namespace {

// EATA's own number; SoTTA's automatic threshold needs no more.
constexpr int64_t kSourceImages = 2000;

struct LoadedModel {
  std::shared_ptr<const Classifier> classifier;
  std::string checksum;
};

template <class... Parts>
std::string key_of(const Parts&... parts) {
  std::string key;
  ((key += std::string(parts) + '\n'), ...);
  return key;
}

std::string stream_key(const Cell& cell) {
  std::string key = cell.dataset;
  for (const auto& field : option_fields(cell.stream))
    key += '\n' + to_text(field.value);
  return key;
}

WorkbenchOptions checked(const WorkbenchOptions& options) {
  require(options.lanes == 1 || !options.cuda_graphs, "cuda_graphs",
          "expected one lane, got " + std::to_string(options.lanes));
  if (!options.cuda_graphs || !options.device.is_cuda()) return options;
  const std::string got = ", got " + std::to_string(options.jobs);
  require(
      options.jobs <= OwnQueue::kMost, "cuda_graphs",
      "expected at most " + std::to_string(OwnQueue::kMost) + " jobs" + got);
  require(options.jobs == 1 || options.precision != Precision::kFloat32,
          "cuda_graphs", "with fp32 expected one job" + got);
  return options;
}

// Attacks other than the published one change what the source model sees, and a
// screen may ask for some of the images alone.
bool can_use_source_outputs(const Cell& cell) {
  const bool attacked = find_scenario(cell.stream.scenario).has_attacker() &&
                        cell.attack.mode != "paper";
  return uses_source_outputs(cell.method) && cell.odin.threshold == 0 &&
         !attacked;
}

std::function<std::unique_ptr<Method>(const MethodContext&)> maker_of(
    const Cell& cell, std::shared_ptr<const SourceOutputs> outputs) {
  return [cell, outputs](const MethodContext& context) {
    const Preset preset = parse_preset(cell.preset);
    auto method = outputs ? make_cached_method(cell.method, context, preset,
                                               cell.method_changes, outputs)
                          : make_method(cell.method, context, preset,
                                        cell.method_changes);
    if (cell.odin.threshold > 0)
      method = make_odin_screen(context, cell.odin, std::move(method));
    return method;
  };
}

}  // namespace

class Workbench::Store {
 public:
  explicit Store(const WorkbenchOptions& options)
      : options_(options),
        models_(4),
        foreign_(8),
        targets_(static_cast<size_t>(options.cells_at_once()) + 1),
        plans_(static_cast<size_t>(options.cells_at_once()) + 1),
        outputs_(static_cast<size_t>(options.cells_at_once()) + 1),
        source_images_(static_cast<size_t>(options.cells_at_once()) + 1) {}

  const WorkbenchOptions& options() const { return options_; }

  std::shared_ptr<const LoadedModel> model(const Cell& cell) {
    return models_.get(key_of(cell.dataset, cell.model), [&] {
      const DatasetEntry& entry = find_dataset(cell.dataset);
      ModelOptions load;
      load.default_normalisation = Normalisation{entry.mean, entry.std};
      load.device = options_.device;
      load.precision = options_.precision;
      load.tuned = options_.tuned;
      load.shared = options_.jobs > 1;
      load.engine = options_.engine;
      const DeviceWork at_work(options_.device);
      LoadedModel loaded;
      loaded.classifier = open_model(cell.model, load);
      loaded.checksum = model_checksum(loaded.classifier->source());
      wait_for(options_.device);  // other threads will use it
      return std::make_shared<const LoadedModel>(std::move(loaded));
    });
  }

  // The target images under the cell's corruption, for all scenarios.
  std::shared_ptr<const StreamSources> targets(const Cell& cell) {
    StreamOptions stream = cell.stream;
    stream.scenario = StreamOptions().scenario;  // has no foreign images
    stream.foreign.clear();
    const std::string key = key_of(
        cell.dataset, stream.corruptions, std::to_string(stream.severity),
        std::to_string(stream.corruption_seed), stream.frost_dir);
    return targets_.get(key, [&] { return open(cell.dataset, stream); });
  }

  // The foreign images of the cell's scenario, for all corruptions.
  std::shared_ptr<const StreamSources> foreign(const Cell& cell) {
    StreamOptions stream = cell.stream;
    stream.corruptions.clear();
    const std::string key =
        key_of(cell.dataset, stream.scenario, stream.foreign);
    return foreign_.get(key, [&] { return open(cell.dataset, stream); });
  }

  StreamSources sources(const Cell& cell) {
    StreamSources sources = *foreign(cell);
    sources.domains = targets(cell)->domains;
    return sources;
  }

  std::shared_ptr<const StreamPlan> plan(const Cell& cell) {
    return plans_.get(stream_key(cell), [&] {
      return std::make_shared<const StreamPlan>(cell.stream, sources(cell));
    });
  }

  std::shared_ptr<const SourceOutputs> outputs(
      const Cell& cell, const ProgressCallback& progress) {
    return outputs_.get(stream_key(cell) + '\n' + cell.model, [&] {
      const auto stream_plan = plan(cell);
      Stream stream(stream_plan, sources(cell));
      const SourceOutputs outputs = source_outputs(
          *model(cell)->classifier, *stream_plan, stream, progress);
      wait_for(options_.device);  // likewise
      return std::make_shared<const SourceOutputs>(outputs);
    });
  }

  // Images for a method to look at before the stream: clean ones; under the
  // paper's preset mixed with foreign ones as in the stream, as its code did.
  std::shared_ptr<const at::Tensor> source_images(const Cell& cell) {
    const bool mixed = cell.preset == "paper" &&
                       find_scenario(cell.stream.scenario).has_foreign();
    const std::string key =
        mixed ? stream_key(cell)
              : key_of(cell.dataset, std::to_string(cell.stream.seed));
    return source_images_.get(key, [&] {
      // foreign() has the target images without a corruption.
      const auto dataset = foreign(cell)->domains[0].images;
      const auto seed = static_cast<uint64_t>(cell.stream.seed);
      return std::make_shared<const at::Tensor>(
          mixed ? mixed_source_images(*dataset, plan(cell), sources(cell),
                                      kSourceImages)
                : draw_source_images(*dataset, kSourceImages,
                                     Rng(seed).child("source_images")));
    });
  }

  at::Tensor source_images_on_device(const Cell& cell) {
    const auto images = source_images(cell);  // may wait for another thread
    const DeviceWork at_work(options_.device);
    return images->to(options_.device);
  }

  CellFacts facts(const Cell& cell) {
    CellFacts facts;
    facts.classes = find_dataset(cell.dataset).classes;
    facts.model_checksum = model(cell)->checksum;
    facts.corruption_source = targets(cell)->domains[0].source;
    facts.foreign = foreign(cell)->foreign_name;
    return facts;
  }

 private:
  std::shared_ptr<const StreamSources> open(const std::string& dataset,
                                            const StreamOptions& stream) {
    return std::make_shared<const StreamSources>(
        open_sources(dataset, options_.data_root, stream));
  }

  WorkbenchOptions options_;
  SharedCache<LoadedModel> models_;
  SharedCache<StreamSources> foreign_;
  SharedCache<StreamSources> targets_;
  SharedCache<StreamPlan> plans_;
  SharedCache<SourceOutputs> outputs_;
  SharedCache<at::Tensor> source_images_;
};

Workbench::Workbench(const WorkbenchOptions& options)
    : store_(std::make_unique<Store>(checked(options))) {}

Workbench::~Workbench() = default;

const WorkbenchOptions& Workbench::options() const {
  return store_->options();
}

void Workbench::check(const Cell& cell) {
  const auto model = store_->model(cell)->classifier;
  const auto images = store_->sources(cell).domains[0].images;
  check_fit(*model, *images, cell.dataset);
  validate(cell.odin);
  validate(cell.guard);
  validate(cell.attack);
  require_at_least("gradient_samples", cell.gradient_samples, 0);
  MethodContext context;
  context.model = model;
  context.update_interval = cell.stream.window;
  context.source_images = images->range(0, std::min<int64_t>(2, images->size()))
                              .images.to(store_->options().device);
  maker_of(cell, nullptr)(context);
}

RunRecord Workbench::describe(const Cell& cell) {
  RunRecord record = sotta::describe(cell, store_->facts(cell));
  record.device = store_->options().device.str();
  record.engine = store_->model(cell)->classifier->engine();
  record.threads = at::get_num_threads();
  // Records of the time before there was a choice do not name float32.
  if (store_->options().precision != Precision::kFloat32)
    record.options["precision"] = to_text(store_->options().precision);
  return record;
}

RunTask Workbench::prepare(const Cell& cell, const ProgressCallback& progress) {
  RunTask task;
  task.method = cell.method;
  task.context.model = store_->model(cell)->classifier;
  task.context.rng = Rng(static_cast<uint64_t>(cell.stream.seed));
  task.context.update_interval = cell.stream.window;
  task.context.executor = std::make_shared<Executor>(
      task.context.model, ExecutorOptions{store_->options().cuda_graphs});
  task.context.source_images = store_->source_images_on_device(cell);
  std::shared_ptr<const SourceOutputs> outputs;
  if (can_use_source_outputs(cell)) outputs = store_->outputs(cell, progress);
  task.shared_seconds = outputs ? outputs->seconds : 0;
  task.make = maker_of(cell, outputs);
  task.guard = cell.guard;
  task.plan = store_->plan(cell);
  task.sources = store_->sources(cell);
  task.attack = cell.attack;
  task.gradient_samples = cell.gradient_samples;
  task.record = describe(cell);
  return task;
}

namespace {

// None if a stop was asked for.
std::optional<RunTask> prepared(const Cell& cell, Workbench& bench,
                                const ProgressCallback& progress) {
  try {
    return bench.prepare(cell, progress);
  } catch (const PassStopped&) {
    return std::nullopt;
  }
}

RunResult stopped_run() {
  RunResult nothing;
  nothing.stopped = true;
  return nothing;
}

}  // namespace

RunResult run_cell(const Cell& cell, Workbench& bench,
                   const ProgressCallback& progress) {
  const auto task = prepared(cell, bench, progress);
  return task ? run_stream(*task, progress) : stopped_run();
}

RunResult run_cell(const Cell& cell, Workbench& bench,
                   const ProgressCallback& progress, LaneGroup& lanes) {
  auto task = prepared(cell, bench, progress);
  if (!task) return stopped_run();
  task->context.executor = lanes.make_executor(task->context.model);
  const LaneGroup::Member member(lanes);
  return run_stream(*task, progress);
}

}  // namespace sotta
