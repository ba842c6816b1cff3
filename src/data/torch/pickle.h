#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sotta {

enum class PickleKind {
  kNone,
  kBool,
  kInt,
  kBigInt,  // more than 64 bits; `text` holds it in little-endian order
  kFloat,
  kText,
  kBytes,
  kTuple,
  kList,
  kDict,    // `items` alternates keys and values
  kGlobal,  // a name such as "torch.FloatStorage" in `text`, never looked up
  kCall,    // what Python would call: its name in `text`, one item: a tuple
  kPersistent,  // a reference into the surrounding file; one item: a tuple
  kObject,      // of a class of the file's own; one item once it has a state
};

using PickleIndex = uint32_t;

// One value of a pickle as plain data. `text` points into the pickled bytes.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  int64_t integer = 0;  // kInt; kBool as 0 or 1
  double real = 0;      // kFloat
  std::string_view text;
  std::vector<PickleIndex> items;
};

// A pickle as a flat table of values that refer to each other by index: a
// hostile nesting or cycle costs neither stack nor a leak, and a reader decides
// how deep it looks.
struct Pickle {
  std::vector<PickleValue> values;
  PickleIndex root = 0;
  size_t size = 0;  // bytes up to and including the end mark

  const PickleValue& at(PickleIndex index) const { return values[index]; }

  // The item of a container at this position.
  const PickleValue& item(const PickleValue& of, size_t position) const {
    return values[of.items[position]];
  }
};

struct PickleRules {
  std::string subject;  // named in every error

  // The globals that may appear, as "module.name"; any other is refused.
  // "collections.OrderedDict", if listed, becomes a kDict when called.
  const std::vector<std::string_view>* globals = nullptr;

  // How the names of further classes begin whose objects may appear, such as
  // "__torch__."; empty: none. Their globals have this as `text`.
  std::string_view class_prefix = {};

  // Why anything else is refused: the end of the message.
  std::string_view refusal =
      "which a file of plain tensors does not need and which is never "
      "executed; save the model's state_dict() alone";
};

// Reads the pickle at the start of these bytes, which must outlive the result.
// Nothing is imported, looked up or called: the opcodes of plain data build
// values, a call becomes a kCall value, everything else is refused by name.
//
// Throws Error(kUnsupported) for a global or opcode outside the list,
// Error(kBadFormat) for anything that no pickler writes.
Pickle parse_pickle(const std::byte* data, size_t size,
                    const PickleRules& rules);

}  // namespace sotta
