#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sotta/data/array.h"

#include "data/torch/torch_container.h"

namespace sotta {

// Makes dense arrays out of the tensors in a checkpoint. Storages are read when
// the first tensor asks for them. The container must outlive it.
class TorchTensors {
 public:
  TorchTensors(const TorchContainer& container, std::string subject);

  // Whether the pickle describes a tensor or parameter here.
  static bool is_tensor(const PickleValue& value);

  // The tensor in C order. Shares the storage's memory where type, strides and
  // alignment allow. Throws Error(kUnsupported) naming the tensor for an
  // element type that is not taken or a tensor larger than its storage,
  // Error(kBadFormat) if it reaches out of its storage.
  Array rebuild(const PickleValue& value, const std::string& name);

  // Only looks whether the tensor lies within its storage, whatever its type
  // and however it repeats elements. Throws Error(kBadFormat) if not.
  void check(const PickleValue& value, const std::string& name) const;

 private:
  struct View;

  [[noreturn]] void damaged(const std::string& name,
                            const std::string& problem) const;
  const PickleValue& unwrap_parameter(const PickleValue& value) const;
  View parse_view(const PickleValue& value, const std::string& name) const;
  std::vector<int64_t> parse_extents(const PickleValue& value,
                                     const std::string& name) const;
  SharedBytes storage_of(const View& view, const std::string& name);
  void check_storage_size(const View& view, const std::string& name) const;
  void check_not_expanded(const View& view, const std::string& name) const;
  void check_bounds(const View& view, const std::string& name) const;
  void charge(int64_t bytes, const std::string& name);
  Array gather(const View& view, const SharedBytes& storage,
               const std::string& name) const;

  const TorchContainer& container_;
  const Pickle& pickle_;
  std::string subject_;
  std::map<std::string, SharedBytes> storages_;
  int64_t budget_ = 0;
};

}  // namespace sotta
