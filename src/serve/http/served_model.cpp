#include "serve/http/served_model.h"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/http/live_documents.h"

namespace sotta {
namespace {

// The seed and the guards are no part of it: a state carries its random streams
// with it, and a person may turn guards on.
std::string identity_of(const ModelSettings& settings) {
  std::string text = "weights " + settings.checksum + ", method " +
                     settings.method + ", window " +
                     std::to_string(settings.window);
  for (const OptionField& field : method_options(
           settings.method, settings.preset, settings.network->classes())) {
    const auto change = settings.changes.find(field.name);
    text += ", " + field.name + " " +
            to_text(change == settings.changes.end() ? field.value
                                                     : change->second);
  }
  return text;
}

std::unique_ptr<StreamBatch> make_batch(const ModelSettings& settings) {
  if (settings.batch_threads == 0) return nullptr;
  return std::make_unique<StreamBatch>(
      settings.network->source().affine.device(), settings.batch_threads);
}

// Whether streams that predict an image each at the same time gain from it.
bool gains_from_batches(const Adapter& adapter) {
  const at::NoGradGuard no_gradients;
  const ModelState state = adapter.state();
  const at::Tensor image =
      at::zeros({1, adapter.model().channels(), 32, 32},
                state.affine.options().dtype(at::kByte).requires_grad(false));
  return PublishedNetwork::can_publish(adapter) &&
         adapter.model().gains_from_lanes({image, state, NormStats::running()});
}

}  // namespace

void ServedModel::warn_of_batches(const Adapter& adapter) const {
  const std::string flag = settings_.name + ": --batch-streams ";
  if (!gains_from_batches(adapter))
    log(LogLevel::kWarning, flag + "gains nothing, as " + settings_.method +
                                " by " + network().engine() +
                                " computes each stream's images alone");
  else if (adapter.prediction_stats().source != NormStats::Source::kRunning)
    log(LogLevel::kWarning,
        flag + "gains nothing at a stream's start, as " + settings_.method +
            " predicts with the statistics of a request's own images there");
}

ServedModel::ServedModel(ModelSettings settings, const StreamStore& store)
    : settings_(std::move(settings)),
      identity_(identity_of(settings_)),
      batch_(make_batch(settings_)),
      source_(make_adapter("source")),
      streams_(
          store, settings_.name,
          [this](std::unique_ptr<StreamStorage> storage) {
            return open(std::move(storage));
          },
          settings_.table) {
  // Says what is wrong before anybody asks.
  const auto adapter = make_adapter(settings_.method);
  if (batch_) warn_of_batches(*adapter);
  if (settings_.table.max_behind == 0) return;
  require(PublishedNetwork::can_publish(*adapter), settings_.method,
          "expected a method that learns and predicts with running statistics "
          "for prompt answers, as sotta, "
          "screened_sotta and rotta do");
  require(!settings_.journal, "journal",
          "expected none with prompt answers, which do not wait for the disk");
}

std::unique_ptr<Adapter> ServedModel::make_adapter(
    const std::string& method) const {
  MethodContext context;
  context.model = settings_.network;
  context.rng = Rng(settings_.seed);
  context.update_interval = settings_.window;
  const bool own = method == settings_.method;
  if (batch_) context.executor = batch_->make_executor(context.model);
  return sotta::make_adapter(method, context, settings_.preset,
                             own ? settings_.changes : OptionMap(),
                             own ? settings_.guard : GuardOptions());
}

std::unique_ptr<ServedStream> ServedModel::open(
    std::unique_ptr<StreamStorage> storage) {
  ServedStreamOptions options;
  options.identity = identity_;
  options.journal = settings_.journal;
  options.save_interval = settings_.window;
  options.batch = batch_.get();
  options.has_floor = settings_.guard.action == "floor";
  options.watch.window = settings_.window;
  options.watch.observer = [this, name = storage->stream()](const auto& event) {
    metrics_.add_event(event);
    events_.publish(name, [&] { return event_text(name, event); });
  };
  options.watch.source_labels = [this](const at::Tensor& images) {
    return answer(images).labels;
  };
  return std::make_unique<ServedStream>(make_adapter(settings_.method),
                                        std::move(storage), options);
}

StreamAnswer ServedModel::answer(const at::Tensor& images) const {
  return answer_with(*source_, images);
}

void ServedModel::count(const ModelStatistics& more) {
  const std::lock_guard<std::mutex> lock(mutex_);
  statistics_.requests += more.requests;
  statistics_.failed += more.failed;
  statistics_.images += more.images;
  statistics_.queue_ns += more.queue_ns;
  statistics_.compute_ns += more.compute_ns;
  statistics_.failed_ns += more.failed_ns;
  statistics_.last_ms = std::max(statistics_.last_ms, more.last_ms);
}

ModelStatistics ServedModel::statistics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return statistics_;
}

}  // namespace sotta
