#include "data/torch/torchscript_archive.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "sotta/core/error.h"

#include "data/formats/mapped_file.h"
#include "data/formats/printable.h"
#include "data/formats/stored_zip.h"
#include "data/formats/zip_archive.h"
#include "data/torch/pickle.h"
#include "data/torch/torch_container.h"
#include "data/torch/torch_tensor.h"

namespace sotta {
namespace {

// Source code and versions are smaller than any pickle.
constexpr uint64_t kMostTextBytes = kMostPickleBytes;
constexpr uint64_t kMostVersionBytes = 16;

// LibTorch destroys nested values recursively. A module takes three levels, and
// no network has a hundred modules inside one another.
constexpr int kDeepest = 300;

bool begins_with(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

bool ends_with(std::string_view text, std::string_view part) {
  return text.size() >= part.size() &&
         text.substr(text.size() - part.size()) == part;
}

// What LibTorch's pickler writes around tensors.
const std::vector<std::string_view>& allowed_globals() {
  static const std::vector<std::string_view> globals = [] {
    auto names = tensor_globals();
    names.insert(names.end(), {"torch.device", "builtins.complex",
                               "torch.jit._pickle.build_intlist",
                               "torch.jit._pickle.build_doublelist",
                               "torch.jit._pickle.build_boollist",
                               "torch.jit._pickle.build_tensorlist",
                               "torch.jit._pickle.restore_type_tag"});
    return names;
  }();
  return globals;
}

// How deep values lie in one another, without recursion.
class Depths {
 public:
  Depths(const Pickle& pickle, const std::string& subject)
      : pickle_(pickle), subject_(subject), depths_(pickle.values.size(), 0) {}

  void check_all() {
    for (PickleIndex i = 0; i < pickle_.values.size(); ++i)
      if (depths_[i] == 0) visit(i);
  }

 private:
  static constexpr int kOpen = -1;  // above the current value, or the value

  void visit(PickleIndex start) {
    std::vector<std::pair<PickleIndex, size_t>> path = {{start, 0}};
    depths_[start] = kOpen;
    while (!path.empty()) {
      auto& [index, next] = path.back();
      const auto& items = pickle_.at(index).items;
      if (next == items.size()) {
        close(index);
        path.pop_back();
        continue;
      }
      const PickleIndex item = items[next++];
      if (depths_[item] == kOpen)
        fail(ErrorKind::kBadFormat, subject_, "a value contains itself");
      if (depths_[item] != 0) continue;
      depths_[item] = kOpen;
      path.emplace_back(item, 0);
    }
  }

  void close(PickleIndex index) {
    int deepest = 0;
    for (const PickleIndex item : pickle_.at(index).items)
      deepest = std::max(deepest, depths_[item]);
    depths_[index] = deepest + 1;
    if (depths_[index] > kDeepest)
      fail(ErrorKind::kBadFormat, subject_,
           "values lie in one another more than " + std::to_string(kDeepest) +
               " deep");
  }

  const Pickle& pickle_;
  const std::string& subject_;
  std::vector<int> depths_;  // 0: not visited yet
};

// One pickle of the archive and the folder of its storages.
class ScriptPickle : public TorchContainer {
 public:
  ScriptPickle(const ZipArchive& archive, const std::string& pickle,
               std::string folder)
      : archive_(archive),
        subject_(archive.subject_of(pickle)),
        folder_(std::move(folder)),
        bytes_(archive.read(pickle, kMostPickleBytes)),
        object_(parse_pickle(bytes_.data.get(), bytes_.size, rules())) {
    if (object_.size != bytes_.size)
      fail(ErrorKind::kBadFormat, subject_,
           std::to_string(bytes_.size - object_.size) +
               " bytes are left over after the pickle");
    Depths(object_, subject_).check_all();
  }

  const Pickle& object() const override { return object_; }

  SharedBytes storage(const std::string& key) const override {
    return archive_.read(member_of(key));
  }

  uint64_t storage_size(const std::string& key) const override {
    return archive_.size_of(member_of(key));
  }

  const SharedBytes& bytes() const { return bytes_; }

  // Checks every tensor and every reference to a storage; returns the keys.
  std::set<std::string> check_tensors() const {
    const TorchTensors tensors(*this, subject_);
    std::set<std::string> keys;
    for (size_t i = 0; i < object_.values.size(); ++i) {
      const PickleValue& value = object_.values[i];
      if (TorchTensors::is_tensor(value))
        tensors.check(value, "number " + std::to_string(i));
      if (value.kind != PickleKind::kPersistent) continue;
      keys.insert(parse_storage_id(object_, value, subject_).key);
    }
    return keys;
  }

 private:
  PickleRules rules() const {
    PickleRules rules;
    rules.subject = subject_;
    rules.globals = &allowed_globals();
    rules.class_prefix = "__torch__.";
    rules.refusal = "which no network that can be adapted needs";
    return rules;
  }

  std::string member_of(const std::string& key) const {
    const std::string name = folder_ + key;
    if (archive_.members().count(name) == 0)
      fail(ErrorKind::kBadFormat, subject_, "no storage " + printable(name));
    return name;
  }

  const ZipArchive& archive_;
  std::string subject_;
  std::string folder_;
  SharedBytes bytes_;
  Pickle object_;
};

class ScriptReader {
 public:
  ScriptReader(const SharedBytes& bytes, const std::string& subject)
      : archive_(bytes, subject), subject_(subject), root_(find_root()) {}

  std::vector<StoredMember> read() {
    take_version();
    take_pickle("data", PickleKind::kObject);
    take_pickle("constants", PickleKind::kTuple);
    for (const auto& [name, member] : archive_.members())
      if (begins_with(name, root_ + "code/") && ends_with(name, ".py"))
        take(name, archive_.read(name, kMostTextBytes));
    return std::move(parts_);
  }

 private:
  bool has(const std::string& name) const {
    return archive_.members().count(name) > 0;
  }

  std::string find_root() const {
    constexpr std::string_view kEnd = "/constants.pkl";
    for (const auto& [name, member] : archive_.members()) {
      if (!ends_with(name, kEnd)) continue;
      const std::string root = name.substr(0, name.size() - kEnd.size()) + "/";
      if (has(root + "data.pkl")) return root;
    }
    fail(ErrorKind::kBadFormat, subject_,
         "expected a TorchScript archive, got a zip archive without data.pkl "
         "and constants.pkl in one folder");
  }

  // LibTorch wants all members in one folder, whatever its name.
  void take(const std::string& member, const SharedBytes& content) {
    parts_.push_back({"archive/" + member.substr(root_.size()), content,
                      archive_.members().at(member).checksum});
  }

  void take_version() {
    const std::string name =
        root_ + (has(root_ + ".data/version") ? ".data/version" : "version");
    if (!has(name))
      fail(ErrorKind::kBadFormat, subject_,
           "expected a member " + printable(name) + ", got none");
    const SharedBytes bytes = archive_.read(name, kMostVersionBytes);
    const std::string text(reinterpret_cast<const char*>(bytes.data.get()),
                           bytes.size);
    const size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string::npos ||
        text.substr(digits) != "\n")
      fail(ErrorKind::kBadFormat, archive_.subject_of(name),
           "expected a number and a newline, got " + printable(text));
    take(name, bytes);
  }

  void take_pickle(const std::string& name, PickleKind kind) {
    const std::string folder = root_ + name + "/";
    const std::string member = root_ + name + ".pkl";
    const ScriptPickle pickle(archive_, member, folder);
    if (pickle.object().at(pickle.object().root).kind != kind)
      fail(ErrorKind::kBadFormat, archive_.subject_of(member),
           kind == PickleKind::kObject ? "expected a module"
                                       : "expected a tuple of constants");
    for (const std::string& key : pickle.check_tensors())
      take(folder + key, pickle.storage(key));
    take(member, pickle.bytes());
  }

  ZipArchive archive_;
  std::string subject_;
  std::string root_;
  std::vector<StoredMember> parts_;
};

}  // namespace

std::vector<Array> parse_torchscript_archive(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject) {
  const auto members = ScriptReader({data, size}, subject).read();
  std::vector<Array> pieces;
  for (const SharedBytes& piece : make_stored_zip(members, subject))
    pieces.push_back(array_at(piece, 0, ElementType::kUint8,
                              {static_cast<int64_t>(piece.size)}));
  return pieces;
}

std::vector<Array> read_torchscript_archive(const std::filesystem::path& path) {
  const SharedBytes file = map_file(path);
  return parse_torchscript_archive(file.data, file.size, path.string());
}

}  // namespace sotta
