#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"
#include "sotta/nn/optimiser.h"

namespace sotta {

// Everything an adapter has become since it was made: parameters, statistics,
// optimiser moments, memory, counters, random streams. Restoring it continues
// the run bit for bit.
struct Snapshot {
  std::string method;  // whose it is
  std::map<std::string, at::Tensor> tensors;
};

// To and from safetensors. Reading throws Error as read_safetensors() does.
void write_snapshot(const std::filesystem::path& file,
                    const Snapshot& snapshot);
Snapshot read_snapshot(const std::filesystem::path& file);

// Carries a method's state into a snapshot or out of one. The method lists its
// state once, in Method::exchange(), and that list serves both ways.
class StateArchive {
 public:
  // For saving: values are copied into `snapshot`.
  static StateArchive into(Snapshot& snapshot);
  // For loading: values are checked now and set by commit().
  static StateArchive from(const Snapshot& snapshot);

  // A tensor of a fixed shape; loading another shape is an error.
  void operator()(const std::string& name, at::Tensor& value);

  // A tensor that may be undefined and whose shape may vary; loaded to
  // `device`.
  void varying(const std::string& name, at::Tensor& value, at::Device device);

  void operator()(const std::string& name, int64_t& value);
  void operator()(const std::string& name, double& value);
  void operator()(const std::string& name, bool& value);
  void operator()(const std::string& name, Rng& value);
  void operator()(const std::string& name, Optimiser& value, at::Device device);

  // For state of another form, held as int64 words: `save` gives it as a
  // tensor, `load` takes it back. `check` throws if a stored tensor cannot be
  // taken; it runs at once, `load` at commit().
  struct Converter {
    std::function<at::Tensor()> save;
    std::function<void(const at::Tensor&)> check;
    std::function<void(const at::Tensor&)> load;
  };
  void operator()(const std::string& name, const Converter& converter);

  // Ends a loading: throws Error(kBadFormat) if the snapshot has anything that
  // was not asked for, else sets every value. Until then nothing has changed.
  void commit();

 private:
  StateArchive(Snapshot* target, const Snapshot* origin)
      : target_(target), origin_(origin) {}

  bool saving() const { return target_ != nullptr; }
  at::Tensor find(const std::string& name, bool required);

  Snapshot* target_;
  const Snapshot* origin_;
  size_t used_ = 0;
  std::vector<std::function<void()>> assignments_;
};

}  // namespace sotta
