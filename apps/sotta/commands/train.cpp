#include "train/train.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "sotta/core/error.h"
#include "sotta/core/version.h"
#include "sotta/data/dataset.h"
#include "sotta/eval/evaluate.h"
#include "sotta/gpu/device.h"
#include "sotta/models/weights.h"
#include "sotta/record/record_file.h"

#include "commands.h"
#include "core/checks.h"
#include "core/output_place.h"
#include "core/peak_memory.h"
#include "core/stopwatch.h"
#include "data/sets/catalog.h"
#include "eval/begin_record.h"
#include "flags.h"
#include "gpu/out_of_memory.h"
#include "models/named_network.h"
#include "process.h"
#include "progress_bar.h"
#include "record/run_identity.h"
#include "train/checkpoint.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

struct TrainFlags {
  std::string dataset;
  std::string model = "resnet18";
  std::string out;
  std::string data;
  std::string device = "cpu";
  std::string record;
  int64_t width = 0;
  int64_t checkpoint_every = 10;
  int64_t test_every = 0;
  int64_t memory_gb = kTrainingSetBytes >> 30;
  int64_t threads = 0;
  bool resume = false;
  bool half = false;
  bool json = false;
  TrainOptions options;
};

// m.safetensors -> m<ending>
fs::path beside(const fs::path& weights, const std::string& ending) {
  fs::path name = weights;
  if (name.extension() == ".safetensors") name.replace_extension();
  return name += ending;
}

fs::path record_file(const TrainFlags& flags) {
  return flags.record.empty() ? beside(flags.out, ".record.jsonl")
                              : fs::path(flags.record);
}

void check_flags(const TrainFlags& flags) {
  require_within("--width", flags.width, 0, 1 << 12);
  require_at_least("--checkpoint-every", flags.checkpoint_every, 1);
  require_at_least("--test-every", flags.test_every, 0);
  require_within("--memory-gb", flags.memory_gb, 1, 1 << 20);
}

// Before the training, not after it.
void check_place(const fs::path& out, const fs::path& record) {
  const fs::path folder = out.has_parent_path() ? out.parent_path() : ".";
  if (!fs::is_directory(folder))
    fail(ErrorKind::kNotFound, out.string(),
         "the folder " + folder.string() + " does not exist");
  require(!fs::is_directory(out), out.string(),
          "expected a name for the weights file, this is a folder");
  require(fs::weakly_canonical(fs::absolute(out)) !=
              fs::weakly_canonical(fs::absolute(record)),
          "--record", record.string() + " is the file of --out");
  check_writable(out);
  check_appendable(record);
}

NamedNetwork network_of(const TrainFlags& flags, const Dataset& data) {
  const ImageShape shape = data.shape();
  return named_network(
      flags.model, {data.classes(), shape.channels, shape.height, shape.width},
      flags.width);
}

// What must agree between an interrupted training and its continuation.
OptionMap run_options(const TrainFlags& flags, const TrainOptions& options,
                      int64_t images) {
  OptionMap run = to_option_map(options);
  run["dataset"] = flags.dataset;
  run["model"] = flags.model;
  run["width"] = flags.width;
  run["images"] = images;
  run.erase("cuda_graphs");  // only speed
  return run;
}

// A sentence for the weights file; what is off is left out.
std::string recipe(const TrainOptions& options) {
  std::string text =
      (options.optimiser == "adamw" ? "AdamW, beta1 " : "SGD, Nesterov ") +
      to_text(options.momentum) + ", weight decay " +
      to_text(options.weight_decay) + ", batch " +
      std::to_string(options.batch) + ", cosine from " + to_text(options.rate);
  const auto add = [&](const std::string& what, const auto& value) {
    if (value > 0) text += ", " + what + " " + to_text(value);
  };
  add("epochs of warm-up", options.warm_up);
  add("label smoothing", options.label_smoothing);
  text += ", crop with padding " + std::to_string(options.padding);
  if (options.flip) text += ", flip";
  add("erase", options.erase);
  add("mixup", options.mixup);
  add("CutMix", options.cutmix);
  add("plain epochs", options.plain_epochs);
  return text + ", " + options.precision;
}

// One training from flags to weights and record.
class TrainRun {
 public:
  explicit TrainRun(const TrainFlags& flags)
      : flags_(flags),
        entry_(find_dataset(flags.dataset)),
        device_(parse_device(flags.device)),
        checkpoint_file_(beside(flags.out, ".checkpoint.safetensors")) {
    flags_.options = resolve(flags.options, device_);
    const bool continued = find_checkpoint();
    const fs::path root = data_root(flags.data);
    test_ = open_dataset(flags.dataset, root, "test");
    const auto images = open_dataset(flags.dataset, root, "train");
    network_ = network_of(flags, *images);
    const Rng rng = Rng(static_cast<uint64_t>(flags_.options.seed));
    model_ = network(network_.random_state(rng.child("init")).to(device_));
    trainer_ =
        std::make_unique<Trainer>(*model_, load(*images), flags_.options);
    run_ = run_options(flags_, flags_.options, images->size());
    if (continued) restore();
  }

  // Trains to the end, or saves and throws if the user interrupts.
  RunRecord finish(int64_t threads) {
    const Stopwatch watch;
    const double before = seconds_;
    const auto spent = [&] { return before + watch.seconds(); };
    ProgressBar bar("images", trainer_->step() * flags_.options.batch);
    TrainEvents events;
    events.progress = [&](const Progress& progress) {
      bar.show(progress);
      return !interrupted();
    };
    events.epoch_ended = [&](int64_t epoch, const EpochFigures&) {
      seconds_ = spent();
      const bool last = epoch == flags_.options.epochs;
      if (last || epoch % flags_.checkpoint_every == 0) save();
      if (!last && flags_.test_every > 0 && epoch % flags_.test_every == 0)
        report_test(epoch, bar);
    };
    const bool done = train(*trainer_, events);
    bar.finish();
    seconds_ = spent();
    if (!done) stop();
    return write_outcome(threads);
  }

 private:
  // Whether there is one to continue from. Neither an unfinished training nor a
  // finished one is overwritten by mistake.
  bool find_checkpoint() const {
    const bool there = fs::exists(checkpoint_file_);
    require(!there || flags_.resume, checkpoint_file_.string(),
            "an unfinished training lies there, --resume continues it and "
            "removing the file forgets it");
    require(there || !flags_.resume || !fs::exists(flags_.out), flags_.out,
            "is there and has no checkpoint beside it, so there is nothing to "
            "resume");
    if (flags_.resume && !there)
      std::cerr << "no checkpoint yet, starting from the beginning\n";
    return there;
  }

  std::unique_ptr<Classifier> network(const ModelState& state) const {
    DeviceSettings settings;
    settings.tuned = true;  // all batches have one size
    // bf16 is the trainer's: it rounds the weights of its steps, not the
    // tests'.
    if (device_.is_cuda() && flags_.options.precision != "fp32")
      settings.precision = Precision::kTf32;
    return network_.make(state, {entry_.mean, entry_.std}, settings);
  }

  TrainingSet load(const Dataset& images) const {
    ProgressBar bar("images");
    return load_training_set(images, flags_.options.padding, device_,
                             flags_.memory_gb << 30,
                             [&](const Progress& progress) {
                               // What lies in memory already is read at once.
                               if (entry_.layout == DatasetLayout::kFolders)
                                 bar.show(progress);
                               return !interrupted();
                             });
  }

  void save() const {
    save_checkpoint(checkpoint_file_, {trainer_->save(), run_, seconds_});
  }

  void restore() {
    const Checkpoint checkpoint = load_checkpoint(checkpoint_file_, run_);
    try {
      trainer_->restore(checkpoint.state);
    } catch (const Error& error) {
      throw Error(ErrorKind::kBadFormat,
                  checkpoint_file_.string() + ": " + error.what());
    }
    seconds_ = checkpoint.seconds;
    was_done_ = trainer_->done();
  }

  [[noreturn]] void stop() const {
    save();
    const int64_t epoch = trainer_->step() / trainer_->steps_per_epoch() + 1;
    throw CLI::RuntimeError("interrupted in epoch " + std::to_string(epoch) +
                                " of " + std::to_string(flags_.options.epochs) +
                                ", kept in " + checkpoint_file_.string() +
                                "; the same command with --resume goes on",
                            1);
  }

  EvaluateResult test(const Classifier& model) const {
    EvaluateOptions options;
    options.batch = 250;
    return evaluate(model, *test_, options);
  }

  void report_test(int64_t epoch, ProgressBar& bar) const {
    const EvaluateResult result = test(*network(trainer_->state()));
    bar.finish();
    std::fprintf(stderr, "epoch %lld: test accuracy %.2f %%\n",
                 static_cast<long long>(epoch), result.accuracy());
  }

  // The accuracy is that of the weights as they are stored.
  RunRecord write_outcome(int64_t threads) const {
    TensorFile weights = export_weights(
        *model_, trainer_->state(),
        flags_.half ? WeightPrecision::kHalf : WeightPrecision::kFloat);
    LoadOptions load_options;
    load_options.device = device_;
    const EvaluateResult result =
        test(*make_classifier(weights, load_options, flags_.out));
    const RunRecord record = make_record(result, threads);
    describe(record, weights.metadata);
    write_safetensors(flags_.out, weights);
    if (!is_recorded(record)) append_record(record_file(flags_), record);
    fs::remove(checkpoint_file_);
    return record;
  }

  // Killed last time after the record was written, and before the checkpoint
  // was removed?
  bool is_recorded(const RunRecord& record) const {
    const fs::path file = record_file(flags_);
    if (!was_done_ || !fs::exists(file)) return false;
    const auto records = read_records(file);
    return !records.empty() && records.back().series == record.series &&
           run_identity(records.back()) == run_identity(record);
  }

  void describe(const RunRecord& record,
                std::map<std::string, std::string>& metadata) const {
    const TrainOptions& options = flags_.options;
    char accuracy[32];
    std::snprintf(accuracy, sizeof accuracy, "%.2f", record.accuracy);
    metadata["dataset"] = flags_.dataset;
    metadata["arch"] = flags_.model;
    const ImageShape shape = test_->shape();
    if (shape.height == shape.width)
      metadata["size"] = std::to_string(shape.height);
    metadata["epochs"] = std::to_string(options.epochs);
    metadata["seed"] = std::to_string(options.seed);
    metadata["test_accuracy"] = accuracy;
    metadata["made_by"] = std::string("sotta train ") + version();
    metadata["recipe"] = recipe(options);
  }

  RunRecord make_record(const EvaluateResult& result, int64_t threads) const {
    RunRecord record = begin_record({"train", flags_.dataset});
    record.model = fs::path(flags_.out).filename().string();
    record.device = device_.str();
    record.engine = model_->engine();
    record.threads = threads;
    record.seed = flags_.options.seed;
    record.options = run_;
    record.options["half"] = flags_.half;
    record.options["cuda_graphs"] = flags_.options.cuda_graphs;
    record.samples = result.samples;
    record.correct = result.correct;
    record.accuracy = result.accuracy();
    record.seconds = seconds_;
    record.images_per_second =
        static_cast<double>(trainer_->steps() * flags_.options.batch) /
        seconds_;
    record.peak_memory_bytes = peak_memory_bytes();
    for (int64_t epoch = 0; epoch < flags_.options.epochs; ++epoch) {
      const EpochFigures figures = trainer_->figures(epoch);
      record.series["loss"].push_back(figures.loss);
      record.series["train_accuracy"].push_back(figures.accuracy);
    }
    return record;
  }

  TrainFlags flags_;
  const DatasetEntry& entry_;
  at::Device device_;
  fs::path checkpoint_file_;
  std::unique_ptr<Dataset> test_;
  NamedNetwork network_;
  std::unique_ptr<Classifier> model_;
  std::unique_ptr<Trainer> trainer_;
  OptionMap run_;
  bool was_done_ = false;  // all steps were made in earlier sittings
  double seconds_ = 0;     // spent on training, earlier sittings included
};

void print_summary(const TrainFlags& flags, const RunRecord& record) {
  std::printf(
      "%s: %s on %s, %lld epochs in %.0f s (%.0f images/s), test accuracy "
      "%.2f %% (%lld of %lld)\n",
      flags.out.c_str(), flags.model.c_str(), record.dataset.c_str(),
      static_cast<long long>(flags.options.epochs), record.seconds,
      record.images_per_second, record.accuracy,
      static_cast<long long>(record.correct),
      static_cast<long long>(record.samples));
}

void run(const TrainFlags& flags) {
  const int64_t threads = use_threads(flags.threads);
  use_blas_threads(1);  // gradients of weights: a product per image
  check_flags(flags);
  check_place(flags.out, record_file(flags));
  catch_interrupts();
  RunRecord record;
  explain_out_of_memory("a smaller --batch needs less",
                        [&] { record = TrainRun(flags).finish(threads); });
  if (flags.json)
    std::cout << to_json(record) << "\n";
  else
    print_summary(flags, record);
}

}  // namespace

void add_train(CLI::App& program) {
  auto* command =
      program.add_subcommand("train", "train a source model from scratch");
  auto flags = std::make_shared<TrainFlags>();
  add_dataset_flags(*command, flags->dataset, flags->data);
  command->add_option("--model", flags->model, "network, see `sotta info`")
      ->capture_default_str();
  command->add_option("--out", flags->out, "weights to write (safetensors)")
      ->required();
  add_option_flags(*command, flags->options);
  command
      ->add_option("--width", flags->width,
                   "channels of the first stage, or a ViT's dimension; 0: the "
                   "network's own")
      ->capture_default_str();
  add_device_flags(*command, flags->device, flags->threads);
  command->add_flag("--resume", flags->resume,
                    "continue an interrupted training");
  command
      ->add_option("--checkpoint-every", flags->checkpoint_every,
                   "epochs between checkpoints")
      ->capture_default_str();
  command
      ->add_option("--test-every", flags->test_every,
                   "epochs between test accuracies, 0: only at the end")
      ->capture_default_str();
  command
      ->add_option("--memory-gb", flags->memory_gb,
                   "the most GiB the decoded training images may take")
      ->capture_default_str();
  command->add_flag("--half", flags->half,
                    "store weights as float16; norm layers stay float32");
  command->add_option("--record", flags->record,
                      "file of JSON lines to append the record to "
                      "[<out>.record.jsonl]");
  command->add_flag("--json", flags->json, "print the record as JSON");
  command->callback([command, flags] {
    const auto given = given_flags(*command);
    const TrainOptions& options = flags->options;
    require_effect(!parse_device(flags->device).is_cpu(), given,
                   {"--cuda-graphs"}, "a GPU");
    require_effect(options.erase > 0 || options.mixup > 0 || options.cutmix > 0,
                   given, {"--plain-epochs"}, "--erase, --mixup or --cutmix");
    run(*flags);
  });
}

}  // namespace sotta::cli
