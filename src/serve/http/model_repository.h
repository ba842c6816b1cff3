#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/http/served_model.h"

namespace sotta {

// A model as a request holds it: it is unloaded when the last one lets go.
using ModelHandle = std::shared_ptr<ServedModel>;
using ModelHandles = std::vector<ModelHandle>;

// The states of Triton's model repository extension.
enum class ModelReadiness { kLoading, kReady, kUnloading, kUnavailable };

// The models that a server was started with, by name: those that are loaded,
// and those that may be loaded again.
//
// Thread-safe. It keeps the states; whoever calls it does the work between
// begin_... and set_...
class ModelRepository {
 public:
  using UseIdle = std::function<void(std::unique_ptr<ServedModel>)>;

  // Adds one that is loaded. Throws Error(kInvalid) if its name is taken.
  void add(std::unique_ptr<ServedModel> model);

  // Throws RequestError: kNotFound for an unknown name, kUnavailable for a
  // model that is not ready.
  ModelHandle find(const std::string& name) const;

  ModelHandles loaded() const;  // by name

  struct Listed {
    std::string name;
    ModelReadiness state = ModelReadiness::kReady;
    std::string reason;  // why it is not ready
  };
  std::vector<Listed> list() const;  // by name

  // From now on find() refuses a model that was ready. `use` gets it when
  // nobody has a handle of it any more, in the thread that let go last; it must
  // not throw. False if the model was not loaded. Throws RequestError:
  // kNotFound, or kConflict while it is being loaded or unloaded.
  bool begin_unload(const std::string& name, UseIdle use);

  // For a model that is not loaded. Throws as begin_unload() does, and
  // kConflict if it is loaded.
  void begin_load(const std::string& name);

  void set_ready(std::unique_ptr<ServedModel> model);
  void set_unavailable(const std::string& name, const std::string& reason);

 private:
  struct Entry {
    ModelReadiness state = ModelReadiness::kUnavailable;
    std::string reason;
    ModelHandle model;
    std::shared_ptr<UseIdle> use_idle;  // empty: it is destroyed
  };
  Entry& settled(const std::string& name);

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace sotta
