#include "serve/http/model_repository.h"

#include <utility>

#include "sotta/core/error.h"

#include "serve/request_error.h"

namespace sotta {
namespace {

using Lock = std::lock_guard<std::mutex>;

[[noreturn]] void refuse_unknown() {
  throw RequestError(HttpStatus::kNotFound, "model",
                     "there is none of this name");
}

}  // namespace

void ModelRepository::add(std::unique_ptr<ServedModel> model) {
  const std::string name = model->name();
  {
    const Lock lock(mutex_);
    require(entries_.try_emplace(name).second, name,
            "expected models of different names");
  }
  set_ready(std::move(model));
}

ModelHandle ModelRepository::find(const std::string& name) const {
  const Lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse_unknown();
  if (found->second.state != ModelReadiness::kReady)
    throw RequestError(HttpStatus::kUnavailable, "model",
                       "is not ready: " + found->second.reason);
  return found->second.model;
}

ModelHandles ModelRepository::loaded() const {
  const Lock lock(mutex_);
  ModelHandles all;
  for (const auto& [name, entry] : entries_)
    if (entry.model) all.push_back(entry.model);
  return all;
}

std::vector<ModelRepository::Listed> ModelRepository::list() const {
  const Lock lock(mutex_);
  std::vector<Listed> all;
  for (const auto& [name, entry] : entries_)
    all.push_back({name, entry.state, entry.reason});
  return all;
}

// An entry that nobody is changing.
ModelRepository::Entry& ModelRepository::settled(const std::string& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse_unknown();
  Entry& entry = found->second;
  if (entry.state != ModelReadiness::kReady &&
      entry.state != ModelReadiness::kUnavailable)
    throw RequestError(HttpStatus::kConflict, "model", entry.reason);
  return entry;
}

bool ModelRepository::begin_unload(const std::string& name, UseIdle use) {
  ModelHandle last;  // lets go of it without the lock: `use` may come back here
  const Lock lock(mutex_);
  Entry& entry = settled(name);
  if (entry.state == ModelReadiness::kUnavailable) return false;
  entry.state = ModelReadiness::kUnloading;
  entry.reason = "it is being unloaded";
  *entry.use_idle = std::move(use);
  last = std::move(entry.model);
  return true;
}

void ModelRepository::begin_load(const std::string& name) {
  const Lock lock(mutex_);
  Entry& entry = settled(name);
  if (entry.state == ModelReadiness::kReady)
    throw RequestError(HttpStatus::kConflict, "model", "is loaded");
  entry.state = ModelReadiness::kLoading;
  entry.reason = "it is being loaded";
}

void ModelRepository::set_ready(std::unique_ptr<ServedModel> model) {
  const std::string name = model->name();
  const auto use_idle = std::make_shared<UseIdle>();
  const Lock lock(mutex_);
  Entry& entry = entries_.at(name);
  entry.state = ModelReadiness::kReady;
  entry.reason.clear();
  entry.use_idle = use_idle;
  // Runs once nobody has a handle, and then the entry has none either: nobody
  // writes to use_idle any more.
  entry.model = ModelHandle(model.release(), [use_idle](ServedModel* idle) {
    std::unique_ptr<ServedModel> owned(idle);
    const UseIdle use = std::move(*use_idle);
    if (use) use(std::move(owned));
  });
}

void ModelRepository::set_unavailable(const std::string& name,
                                      const std::string& reason) {
  const Lock lock(mutex_);
  Entry& entry = entries_.at(name);
  entry.state = ModelReadiness::kUnavailable;
  entry.reason = reason;
}

}  // namespace sotta
