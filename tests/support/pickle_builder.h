#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/zip_builder.h"

// Pieces of pickles as text, to be put together into checkpoints that PyTorch
// would not write.
namespace sotta::testing {

inline std::string pickled(const std::string& text) {
  return "X" + little_endian(text.size(), 4) + text;
}

inline std::string pickled(const char* text) {
  return pickled(std::string(text));
}

inline std::string pickled(int64_t value) {
  return "\x8a\x08" + little_endian(static_cast<uint64_t>(value), 8);
}

inline std::string pickled(const std::vector<int64_t>& values) {
  std::string items;
  for (const int64_t value : values)
    items += pickled(value);
  return "(" + items + "t";
}

// A tensor's window onto the storage "0"; every number may be a lie.
struct PickledTensor {
  std::string storage = "FloatStorage";
  int64_t storage_count = 6;
  int64_t offset = 0;
  std::vector<int64_t> shape = {6};
  std::vector<int64_t> strides = {1};
};

inline std::string pickled(const PickledTensor& tensor) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled("storage") +
         "ctorch\n" + tensor.storage + "\n" + pickled("0") + pickled("cpu") +
         pickled(tensor.storage_count) + "tQ" + pickled(tensor.offset) +
         pickled(tensor.shape) + pickled(tensor.strides) + "\x89}tR";
}

// {key: value, ...} from pickled pieces, keys and values in turn.
inline std::string pickled_dict(const std::vector<std::string>& items) {
  std::string text = "}(";
  for (const std::string& item : items)
    text += item;
  return text + "u";
}

inline std::string finish_pickle(const std::string& value) {
  return "\x80\x02" + value + ".";
}

// A zip checkpoint of this object with one storage, "0".
inline std::string make_checkpoint(const std::string& object,
                                   const std::string& storage) {
  return make_zip({stored("archive/data.pkl", finish_pickle(object)),
                   stored("archive/data/0", storage)});
}

}  // namespace sotta::testing
