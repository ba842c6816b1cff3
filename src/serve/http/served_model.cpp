#include "serve/http/served_model.h"

#include <algorithm>
#include <utility>

#include "sotta/adapt/make_adapter.h"

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

}  // namespace

ServedModel::ServedModel(ModelSettings settings, const StateStore& store)
    : settings_(std::move(settings)),
      identity_(identity_of(settings_)),
      source_(make_adapter("source")),
      streams_(
          store, settings_.name,
          [this](StreamFolder folder) { return open(std::move(folder)); },
          settings_.table) {
  make_adapter(settings_.method);  // says what is wrong before anybody asks
}

std::unique_ptr<Adapter> ServedModel::make_adapter(
    const std::string& method) const {
  MethodContext context;
  context.model = settings_.network;
  context.rng = Rng(settings_.seed);
  context.update_interval = settings_.window;
  context.source_images = settings_.source_images;
  const bool own = method == settings_.method;
  return sotta::make_adapter(method, context, settings_.preset,
                             own ? settings_.changes : OptionMap(),
                             own ? settings_.guard : GuardOptions());
}

std::unique_ptr<ServedStream> ServedModel::open(StreamFolder folder) const {
  StreamOptions options;
  options.identity = identity_;
  options.journal = settings_.journal;
  options.save_interval = settings_.window;
  return std::make_unique<ServedStream>(make_adapter(settings_.method),
                                        std::move(folder), options);
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
