#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/formats/mapped_file.h"
#include "data/torch/pickle.h"

namespace sotta {

// The largest pickle that is unpacked: far above what a state_dict of 70,000
// tensors takes, the most that parse_pickle() accepts.
constexpr uint64_t kMostPickleBytes = uint64_t{64} << 20;

// The two files that torch.save() writes: a zip archive (since 1.6), or a run
// of pickles followed by raw storages. Either way: one pickled object, and the
// storages it refers to by key.
class TorchContainer {
 public:
  virtual ~TorchContainer() = default;

  virtual const Pickle& object() const = 0;

  // The bytes of a storage, and how many they are without unpacking them.
  // Both throw Error(kBadFormat) if there is none.
  virtual SharedBytes storage(const std::string& key) const = 0;
  virtual uint64_t storage_size(const std::string& key) const = 0;
};

// Reads everything but the storages. Throws Error(kBadFormat) or
// Error(kUnsupported) naming `subject` for anything but a checkpoint of plain
// data.
std::unique_ptr<TorchContainer> open_torch_container(
    const SharedBytes& bytes, const std::string& subject);

// The names that tensors and the dicts around them need in a pickle.
std::vector<std::string_view> tensor_globals();

// An element type of PyTorch's and what becomes of it.
struct TorchElement {
  std::string_view storage;  // "torch.FloatStorage"
  const char* name;          // "float32"
  int64_t size;              // bytes

  // Our type for it, and how to copy one element to that type; it returns
  // false if the value does not fit. Null: the type is not taken.
  ElementType type;
  bool (*copy)(const std::byte* from, std::byte* to);

  bool same_bytes() const { return element_size(type) == size; }
};

// What a persistent id says about a storage.
struct StorageId {
  const TorchElement* element;
  std::string key;
  int64_t count;  // elements
};

StorageId parse_storage_id(const Pickle& pickle, const PickleValue& persistent,
                           const std::string& subject);

}  // namespace sotta
