#include "data/torch/torch_checkpoint.h"

#include <string_view>
#include <utility>

#include "sotta/core/error.h"

#include "data/formats/mapped_file.h"
#include "data/formats/printable.h"
#include "data/torch/pickle.h"
#include "data/torch/tensor_names.h"
#include "data/torch/torch_container.h"
#include "data/torch/torch_tensor.h"

namespace sotta {
namespace {

// Under what names training programs save a model among other things.
constexpr std::string_view kUsualKeys[] = {
    "state_dict", "model_state_dict", "model",  "net",
    "network",    "model_state",      "weights"};

const char* kind_name(const PickleValue& value) {
  if (TorchTensors::is_tensor(value)) return "tensor";
  switch (value.kind) {
    case PickleKind::kNone:
      return "None";
    case PickleKind::kBool:
    case PickleKind::kInt:
    case PickleKind::kBigInt:
    case PickleKind::kFloat:
      return "number";
    case PickleKind::kText:
    case PickleKind::kBytes:
      return "text";
    case PickleKind::kTuple:
    case PickleKind::kList:
      return "list";
    case PickleKind::kDict:
      return "dict";
    case PickleKind::kGlobal:
    case PickleKind::kCall:
    case PickleKind::kPersistent:
    case PickleKind::kObject:
      return "object";
  }
  return "object";
}

std::string key_text(const PickleValue& key) {
  if (key.kind == PickleKind::kText) return std::string(key.text);
  if (key.kind == PickleKind::kInt) return std::to_string(key.integer);
  return std::string("a ") + kind_name(key);
}

class CheckpointReader {
 public:
  CheckpointReader(const SharedBytes& bytes, std::string subject,
                   const CheckpointOptions& options)
      : subject_(std::move(subject)),
        options_(options),
        container_(open_torch_container(bytes, subject_)),
        pickle_(container_->object()),
        tensors_(*container_, subject_) {}

  TorchCheckpoint read() {
    const PickleValue& top = pickle_.at(pickle_.root);
    if (top.kind != PickleKind::kDict)
      fail(ErrorKind::kUnsupported, subject_,
           std::string("expected a dict of tensors, got a single ") +
               kind_name(top));
    result_.key = choose_key(top);
    if (result_.key.empty()) {
      take_tensors(top, "");
    } else {
      skip_all_but_key(top);
      take_tensors(*find(top, result_.key), result_.key + ".");
    }
    return std::move(result_);
  }

 private:
  // The last entry of this name, as Python would keep it.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const {
    const PickleValue* found = nullptr;
    for (size_t i = 0; i < dict.items.size(); i += 2)
      if (pickle_.item(dict, i).kind == PickleKind::kText &&
          pickle_.item(dict, i).text == key)
        found = &pickle_.item(dict, i + 1);
    return found;
  }

  bool has_tensors(const PickleValue* dict) const {
    if (dict == nullptr || dict->kind != PickleKind::kDict) return false;
    for (size_t i = 1; i < dict->items.size(); i += 2)
      if (TorchTensors::is_tensor(pickle_.item(*dict, i))) return true;
    return false;
  }

  std::string choose_key(const PickleValue& top) const;
  std::string keys_with_tensors(const PickleValue& top) const;
  void skip_all_but_key(const PickleValue& top);
  void take_tensors(const PickleValue& dict, const std::string& prefix);
  void skip(const std::string& name, const PickleValue& value) {
    result_.skipped.push_back(name + " (" + kind_name(value) + ")");
  }

  std::string subject_;
  const CheckpointOptions& options_;
  std::unique_ptr<TorchContainer> container_;
  const Pickle& pickle_;
  TorchTensors tensors_;
  TorchCheckpoint result_;
};

std::string CheckpointReader::choose_key(const PickleValue& top) const {
  if (!options_.key.empty()) {
    if (!has_tensors(find(top, options_.key)))
      fail(ErrorKind::kInvalid, subject_,
           "expected a dict of tensors under the key " +
               printable(options_.key) + ", got none");
    return options_.key;
  }
  if (has_tensors(&top)) return "";
  std::vector<std::string> usual;
  for (const std::string_view key : kUsualKeys)
    if (has_tensors(find(top, key))) usual.emplace_back(key);
  if (usual.size() == 1) return usual[0];

  const std::string candidates = keys_with_tensors(top);
  fail(ErrorKind::kInvalid, subject_,
       candidates.empty()
           ? "expected a dict of tensors or one dict of them inside, got none"
           : "name the key to take the tensors from: " + candidates);
}

// The same dict may lie under many keys: each is looked at once.
std::string CheckpointReader::keys_with_tensors(const PickleValue& top) const {
  std::map<PickleIndex, bool> known;
  std::string keys;
  for (size_t i = 0; i < top.items.size(); i += 2) {
    const PickleIndex value = top.items[i + 1];
    const auto [entry, is_new] = known.try_emplace(value);
    if (is_new) entry->second = has_tensors(&pickle_.at(value));
    if (entry->second)
      keys += (keys.empty() ? "" : ", ") +
              printable(key_text(pickle_.item(top, i)));
  }
  return keys;
}

void CheckpointReader::skip_all_but_key(const PickleValue& top) {
  for (size_t i = 0; i < top.items.size(); i += 2) {
    const std::string name = key_text(pickle_.item(top, i));
    if (name != result_.key) skip(name, pickle_.item(top, i + 1));
  }
}

void CheckpointReader::take_tensors(const PickleValue& dict,
                                    const std::string& prefix) {
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const PickleValue& key = pickle_.item(dict, i);
    const PickleValue& value = pickle_.item(dict, i + 1);
    const std::string name = key_text(key);
    if (key.kind != PickleKind::kText || !TorchTensors::is_tensor(value)) {
      skip(prefix + name, value);
      continue;
    }
    const auto [entry, is_new] = result_.tensors.try_emplace(name);
    if (!is_new)
      fail(ErrorKind::kBadFormat, subject_,
           "two tensors are named " + printable(name));
    entry->second = tensors_.rebuild(value, name);
  }
}

}  // namespace

TorchCheckpoint parse_torch_checkpoint(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject, const CheckpointOptions& options) {
  TorchCheckpoint checkpoint =
      CheckpointReader({data, size}, subject, options).read();
  const std::string data_parallel = "module.";
  if (!options.strip.empty())
    strip_prefix(checkpoint.tensors, options.strip, subject);
  else if (all_begin_with(checkpoint.tensors, data_parallel))
    strip_prefix(checkpoint.tensors, data_parallel, subject);
  return checkpoint;
}

TorchCheckpoint read_torch_checkpoint(const std::filesystem::path& path,
                                      const CheckpointOptions& options) {
  const SharedBytes file = map_file(path);
  return parse_torch_checkpoint(file.data, file.size, path.string(), options);
}

}  // namespace sotta
