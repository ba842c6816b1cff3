#include "data/torch/torch_container.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "sotta/core/error.h"

#include "data/formats/printable.h"
#include "data/formats/zip_archive.h"

namespace sotta {
namespace {

template <class From, class To>
bool copy_element(const std::byte* from, std::byte* to) {
  From value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::is_same_v<From, double>)
    if (std::isfinite(value) &&
        std::abs(value) > double{std::numeric_limits<To>::max()})
      return false;
  const auto converted = static_cast<To>(value);
  std::memcpy(to, &converted, sizeof converted);
  return true;
}

// Types without a copy function are known, so that the error can name the
// tensor, and so that they may lie in parts of the file that nobody asks for.
constexpr TorchElement kElements[] = {
    {"torch.FloatStorage", "float32", 4, ElementType::kFloat32,
     copy_element<float, float>},
    {"torch.HalfStorage", "float16", 2, ElementType::kFloat16,
     copy_element<uint16_t, uint16_t>},
    {"torch.BFloat16Storage", "bfloat16", 2, ElementType::kBfloat16,
     copy_element<uint16_t, uint16_t>},
    {"torch.DoubleStorage", "float64", 8, ElementType::kFloat32,
     copy_element<double, float>},
    {"torch.ByteStorage", "uint8", 1, ElementType::kUint8,
     copy_element<uint8_t, uint8_t>},
    {"torch.LongStorage", "int64", 8, ElementType::kInt64,
     copy_element<int64_t, int64_t>},
    {"torch.IntStorage", "int32", 4, ElementType::kInt64,
     copy_element<int32_t, int64_t>},
    {"torch.ShortStorage", "int16", 2, {}, nullptr},
    {"torch.CharStorage", "int8", 1, {}, nullptr},
    {"torch.BoolStorage", "bool", 1, {}, nullptr},
    {"torch.ComplexFloatStorage", "complex64", 8, {}, nullptr},
    {"torch.ComplexDoubleStorage", "complex128", 16, {}, nullptr},
};

// Everything a state_dict and the plain values around it may name.
const std::vector<std::string_view>& allowed_globals() {
  static const std::vector<std::string_view> globals = tensor_globals();
  return globals;
}

Pickle parse_object(const SharedBytes& bytes, size_t offset,
                    const std::string& subject) {
  PickleRules rules;
  rules.subject = subject;
  rules.globals = &allowed_globals();
  return parse_pickle(bytes.data.get() + offset, bytes.size - offset, rules);
}

class ZipContainer : public TorchContainer {
 public:
  ZipContainer(const SharedBytes& bytes, const std::string& subject)
      : archive_(bytes, subject), subject_(subject), root_(find_root()) {
    check_byte_order();
    pickled_ = archive_.read(root_ + "data.pkl", kMostPickleBytes);
    object_ =
        parse_object(pickled_, 0, archive_.subject_of(root_ + "data.pkl"));
  }

  const Pickle& object() const override { return object_; }

  SharedBytes storage(const std::string& key) const override {
    return archive_.read(member_of(key));
  }

  uint64_t storage_size(const std::string& key) const override {
    return archive_.size_of(member_of(key));
  }

 private:
  std::string member_of(const std::string& key) const {
    const std::string name = root_ + "data/" + key;
    if (!has(name))
      fail(ErrorKind::kBadFormat, subject_, "no storage " + printable(name));
    return name;
  }

  bool has(const std::string& name) const {
    return archive_.members().count(name) > 0;
  }

  // All members lie in one folder, named after the file when it was saved.
  std::string find_root() const {
    for (const auto& [name, member] : archive_.members()) {
      const size_t slash = name.find('/');
      const std::string root = name.substr(0, slash) + "/";
      if (slash == std::string::npos || !has(root + "data.pkl")) continue;
      if (has(root + "constants.pkl"))
        fail(ErrorKind::kUnsupported, subject_,
             "expected a state_dict, got a TorchScript archive");
      return root;
    }
    fail(ErrorKind::kBadFormat, subject_,
         "expected a PyTorch checkpoint, got a zip archive without data.pkl");
  }

  void check_byte_order() const {
    if (!has(root_ + "byteorder")) return;  // as before PyTorch 2.1
    constexpr uint64_t kLongest = 16;
    const SharedBytes order = archive_.read(root_ + "byteorder", kLongest);
    const std::string_view text(reinterpret_cast<const char*>(order.data.get()),
                                order.size);
    if (text != "little")
      fail(ErrorKind::kUnsupported, subject_,
           "expected little-endian numbers, got " + printable(text));
  }

  ZipArchive archive_;
  std::string subject_;
  std::string root_;
  SharedBytes pickled_;
  Pickle object_;
};

class LegacyContainer : public TorchContainer {
 public:
  LegacyContainer(const SharedBytes& bytes, const std::string& subject)
      : bytes_(bytes), subject_(subject) {
    check_magic();
    check_protocol();
    check_machine();
    object_ = next_pickle();
    locate_storages();
  }

  const Pickle& object() const override { return object_; }

  SharedBytes storage(const std::string& key) const override {
    const auto found = storages_.find(key);
    if (found == storages_.end())
      fail(ErrorKind::kBadFormat, subject_, "no storage " + printable(key));
    return found->second;
  }

  uint64_t storage_size(const std::string& key) const override {
    return storage(key).size;
  }

 private:
  Pickle next_pickle() {
    Pickle pickle = parse_object(bytes_, position_, subject_);
    position_ += pickle.size;
    return pickle;
  }

  void check_magic() {
    constexpr std::string_view kMagic =
        "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    const Pickle pickle = next_pickle();
    const PickleValue& value = pickle.at(pickle.root);
    if (value.kind != PickleKind::kBigInt || value.text != kMagic)
      fail(ErrorKind::kBadFormat, subject_,
           "expected a PyTorch checkpoint, got a pickle that does not begin "
           "with PyTorch's magic number");
  }

  void check_protocol() {
    constexpr int64_t kProtocol = 1001;
    const Pickle pickle = next_pickle();
    const PickleValue& value = pickle.at(pickle.root);
    if (value.kind != PickleKind::kInt || value.integer != kProtocol)
      fail(ErrorKind::kUnsupported, subject_,
           "expected version 1001 of PyTorch's old format, got another");
  }

  void check_machine() {
    const Pickle pickle = next_pickle();
    const PickleValue& facts = pickle.at(pickle.root);
    for (size_t i = 0; i + 1 < facts.items.size(); i += 2)
      if (pickle.item(facts, i).text == "little_endian" &&
          pickle.item(facts, i + 1).integer == 0)
        fail(ErrorKind::kUnsupported, subject_,
             "expected little-endian numbers, got big-endian ones");
  }

  // A storage's length is counted in elements, whose size only the object's
  // references tell.
  void locate_storages() {
    std::map<std::string, StorageId> ids;
    for (const PickleValue& value : object_.values) {
      if (value.kind != PickleKind::kPersistent) continue;
      StorageId id = parse_storage_id(object_, value, subject_);
      const std::string key = id.key;
      ids.emplace(key, std::move(id));
    }
    const Pickle keys = next_pickle();
    for (const PickleIndex item : keys.at(keys.root).items) {
      const auto id = ids.find(std::string(keys.at(item).text));
      if (id == ids.end())
        fail(ErrorKind::kBadFormat, subject_,
             "no tensor uses the storage " + printable(keys.at(item).text));
      storages_[id->first] = take_storage(id->second);
    }
    if (position_ != bytes_.size)
      fail(ErrorKind::kBadFormat, subject_,
           std::to_string(bytes_.size - position_) +
               " bytes are left over after the last storage");
  }

  SharedBytes take_storage(const StorageId& id) {
    constexpr size_t kLengthSize = 8;
    uint64_t count = 0;
    const size_t left = bytes_.size - position_;
    if (left >= kLengthSize)
      std::memcpy(&count, bytes_.data.get() + position_, kLengthSize);
    const auto size = static_cast<uint64_t>(id.element->size);
    if (left < kLengthSize || count > (left - kLengthSize) / size)
      fail(ErrorKind::kBadFormat, subject_,
           "expected " + std::to_string(count) + " elements of " +
               id.element->name + " in storage " + printable(id.key) +
               ", got the end of the file");
    const std::byte* begin = bytes_.data.get() + position_ + kLengthSize;
    position_ += kLengthSize + count * size;
    return {std::shared_ptr<const std::byte>(bytes_.data, begin), count * size};
  }

  SharedBytes bytes_;
  std::string subject_;
  size_t position_ = 0;
  Pickle object_;
  std::map<std::string, SharedBytes> storages_;
};

}  // namespace

std::vector<std::string_view> tensor_globals() {
  std::vector<std::string_view> names = {
      "collections.OrderedDict",
      "torch.Size",
      "torch._utils._rebuild_tensor",
      "torch._utils._rebuild_tensor_v2",
      "torch._utils._rebuild_parameter",
      "torch._utils._rebuild_parameter_with_state",
      "torch._tensor._rebuild_from_type_v2",
      "torch.Tensor"};
  for (const TorchElement& element : kElements)
    names.push_back(element.storage);
  return names;
}

std::unique_ptr<TorchContainer> open_torch_container(
    const SharedBytes& bytes, const std::string& subject) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data.get()),
                               bytes.size);
  if (start.substr(0, 2) == "PK")
    return std::make_unique<ZipContainer>(bytes, subject);
  if (start.substr(0, 1) == "\x80")
    return std::make_unique<LegacyContainer>(bytes, subject);
  fail(ErrorKind::kBadFormat, subject,
       "expected a PyTorch checkpoint, got neither a zip archive nor a pickle");
}

// ("storage", the type, key, device, number of elements); the old format adds
// a sixth entry, which is None unless the storage is a piece of another.
StorageId parse_storage_id(const Pickle& pickle, const PickleValue& persistent,
                           const std::string& subject) {
  const auto damaged = [&](const char* problem) {
    fail(ErrorKind::kBadFormat, subject,
         std::string("damaged reference to a storage, ") + problem);
  };
  const PickleValue& id = pickle.item(persistent, 0);
  if (id.items.size() < 5 || pickle.item(id, 0).text != "storage")
    damaged("expected five entries that begin with \"storage\"");
  const PickleValue& type = pickle.item(id, 1);
  const PickleValue& key = pickle.item(id, 2);
  const PickleValue& count = pickle.item(id, 4);
  if (key.kind != PickleKind::kText) damaged("expected a string as key");
  if (count.kind != PickleKind::kInt || count.integer < 0)
    damaged("expected a number of elements");
  if (id.items.size() > 5 && pickle.item(id, 5).kind != PickleKind::kNone)
    fail(ErrorKind::kUnsupported, subject,
         "expected whole storages, got one that is a piece of another");
  for (const TorchElement& element : kElements)
    if (type.kind == PickleKind::kGlobal && type.text == element.storage)
      return {&element, std::string(key.text), count.integer};
  damaged("expected a storage type");
  return {};
}

}  // namespace sotta
