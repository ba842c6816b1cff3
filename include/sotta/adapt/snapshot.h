#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"
#include "sotta/nn/optimiser.h"

namespace sotta {

// Everything an adapter has become since it was made: parameters, statistics,
// optimiser moments, memory, counters, random streams, the guards' history.
// Restoring it continues the run bit for bit.
struct Snapshot {
  std::string method;  // whose it is
  std::map<std::string, at::Tensor> tensors;
};

// To and from safetensors. Reading throws Error as read_safetensors() does.
void write_snapshot(const std::filesystem::path& file,
                    const Snapshot& snapshot);
Snapshot read_snapshot(const std::filesystem::path& file);

// The bytes of such a file, and from them; messages name `subject`.
std::string snapshot_bytes(const Snapshot& snapshot);
Snapshot parse_snapshot(std::string_view bytes, const std::string& subject);

// Carries a method's state into a snapshot or out of one. The method lists its
// state once, in Method::exchange(), and that list serves both ways.
class StateArchive {
 public:
  // For saving: values are copied into `snapshot`.
  static StateArchive into(Snapshot& snapshot);
  // For loading: values are checked now and set by commit().
  static StateArchive from(const Snapshot& snapshot);

  // A tensor of a fixed shape and element type; loading others is an error. It
  // is loaded in place, as a recording may know where it lies, so it must be
  // the method's own, never the model's source.
  void operator()(const std::string& name, at::Tensor& value);

  // The same of a tensor that has no value yet where `has_value` is false: it
  // is not saved then, and zeros after such a snapshot was loaded.
  void operator()(const std::string& name, at::Tensor& value, bool& has_value);

  // A float tensor that may be undefined; loaded to `device`. In `shape` -1
  // stands for any extent.
  void varying(const std::string& name, at::Tensor& value, at::Device device,
               const std::vector<int64_t>& shape);

  // Images that are kept or wait, uint8 or float [N, C, H, W], or undefined;
  // loaded to `device`. All that a snapshot holds have the same C, H and W.
  void images(const std::string& name, at::Tensor& value, at::Device device);

  void operator()(const std::string& name, int64_t& value);
  void operator()(const std::string& name, double& value);
  void operator()(const std::string& name, Rng& value);

  // A number that snapshots of earlier versions lack: in these it was
  // `otherwise`.
  void operator()(const std::string& name, int64_t& value, int64_t otherwise);

  // Its tensors must have the form of the parameters it steps on, and are
  // loaded to where those are.
  void operator()(const std::string& name, Optimiser& value,
                  const at::Tensor& parameters);

  // For state of another form, held as int64 words: `save` gives it as a
  // tensor, `load` takes it back. `check` throws if a stored tensor cannot be
  // taken; it runs at once, `load` at commit().
  struct Converter {
    std::function<at::Tensor()> save;
    std::function<void(const at::Tensor&)> check;
    std::function<void(const at::Tensor&)> load;
  };
  void operator()(const std::string& name, const Converter& converter);

  // Marks the values that `list` exchanges as what survives a trial: an update
  // that was tried and is taken back. The published code saved its network
  // `net` and the memory's list of samples, and went on with all else from
  // where the trial had left it; Adapter::take_back() can do the same.
  void survives_trial(const std::function<void()>& list);

  // For loading: leaves the marked values as they are.
  void keep_survivors() { keeps_survivors_ = true; }
  bool keeps_survivors() const { return keeps_survivors_; }

  bool saving() const { return target_ != nullptr; }

  // While loading, for checks that concern several values: the tensor as the
  // snapshot has it, undefined if it has none; and C, H, W of the images loaded
  // so far, empty if there are none.
  at::Tensor stored(const std::string& name) const;
  const std::vector<int64_t>& image_shape() const { return image_shape_; }

  // Throws Error(kBadFormat) if the snapshot has anything that was not asked
  // for: what is loaded is then all there is.
  void check_all_asked_for() const;

  // Ends a loading: the same check, then sets every value. Until then nothing
  // has changed.
  void commit();

 private:
  StateArchive(Snapshot* target, const Snapshot* origin)
      : target_(target), origin_(origin) {}

  at::Tensor find(const std::string& name, bool required);
  at::Tensor exchange_optional(const std::string& name, at::Tensor& value,
                               at::Device device);
  void at_commit(std::function<void()> assign);

  Snapshot* target_;
  const Snapshot* origin_;
  size_t used_ = 0;
  bool survivor_ = false;  // within survives_trial()
  bool keeps_survivors_ = false;
  std::vector<std::function<void()>> assignments_;
  std::vector<int64_t> image_shape_;
};

}  // namespace sotta
