#include "data/torch/exported_program.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"

#include "data/formats/printable.h"
#include "data/formats/zip_archive.h"
#include "data/torch/bounded_json.h"
#include "data/torch/torch_container.h"
#include "data/torch/torch_tensor.h"

namespace sotta {
namespace {

constexpr uint64_t kMostJsonBytes = uint64_t{64} << 20;
constexpr uint64_t kMostShortBytes = 64;
constexpr size_t kMostDimensions = 64;

// Where the two layouts have their parts. Paths of the new one (PyTorch 2.8)
// follow a folder named after the file.
constexpr const char* kFormat = "archive_format";
constexpr const char* kModels = "models/";
constexpr const char* kWeights = "data/weights/";
constexpr const char* kConstants = "data/constants/";
constexpr const char* kOldGraph = "serialized_exported_program.json";
constexpr const char* kOldWeights = "serialized_state_dict.pt";
constexpr const char* kOldConstants = "serialized_constants.pt";

bool ends_with(std::string_view text, std::string_view part) {
  return text.size() >= part.size() &&
         text.substr(text.size() - part.size()) == part;
}

std::string_view as_text(const SharedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data.get()), bytes.size};
}

ExportedType exported(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return ExportedType::kUint8;
    case ElementType::kInt64:
      return ExportedType::kInt64;
    case ElementType::kFloat32:
      return ExportedType::kFloat32;
    case ElementType::kFloat16:
      return ExportedType::kFloat16;
    case ElementType::kBfloat16:
      return ExportedType::kBfloat16;
  }
  return ExportedType::kFloat32;
}

class ProgramReader {
 public:
  ProgramReader(const SharedBytes& bytes, const std::string& subject)
      : archive_(bytes, subject), subject_(subject) {
    if (!has(kOldGraph)) find_model();
    check_byte_order();
  }

  ExportedGraph read_graph() const {
    const std::string member =
        model_.empty() ? kOldGraph : root_ + kModels + model_ + ".json";
    return parse_exported_graph(as_text(archive_.read(member, kMostJsonBytes)),
                                archive_.subject_of(member));
  }

  ExportedProgram read() {
    ExportedProgram program;
    program.graph = read_graph();
    if (model_.empty()) {
      read_pickled(kOldWeights);
      read_pickled(kOldConstants);
    } else {
      read_folder(root_ + kWeights, "_weights_config.json");
      read_folder(root_ + kConstants, "_constants_config.json");
    }
    for (const ExportedInput& input : program.graph.inputs)
      if (input.kind != ExportedInput::Kind::kImages)
        program.tensors[input.name] = tensor_of(input.name);
    check_sharing(program);
    return program;
  }

 private:
  [[noreturn]] void damaged(const std::string& problem) const {
    fail(ErrorKind::kBadFormat, subject_, problem);
  }

  bool has(const std::string& name) const {
    return archive_.members().count(name) > 0;
  }

  void find_model() {
    std::optional<std::string> root;
    for (const auto& [name, member] : archive_.members())
      if (ends_with(name, std::string("/") + kFormat))
        root = name.substr(0, name.size() - std::string(kFormat).size());
    if (!root && has(kFormat)) root = "";
    if (!root)
      damaged(
          "expected an archive of torch.export, got a zip archive without "
          "archive_format");
    root_ = *root;
    const std::string format = root_ + kFormat;
    if (as_text(archive_.read(format, kMostShortBytes)) != "pt2")
      fail(ErrorKind::kBadFormat, archive_.subject_of(format),
           "expected \"pt2\"");
    choose_model();
  }

  // An archive may hold several networks; "model" is what one alone is called.
  void choose_model() {
    const std::string folder = root_ + kModels;
    std::vector<std::string> names;
    for (const auto& [name, member] : archive_.members())
      if (name.compare(0, folder.size(), folder) == 0 &&
          ends_with(name, ".json"))
        names.push_back(
            name.substr(folder.size(), name.size() - folder.size() - 5));
    if (names.empty())
      fail(ErrorKind::kUnsupported, subject_,
           "expected a graph as torch.export.save writes it, got an archive "
           "without one, as of compiled code");
    if (names.size() > 1)
      fail(ErrorKind::kUnsupported, subject_,
           "expected one network, got " + std::to_string(names.size()));
    model_ = names[0];
    if (model_.empty()) damaged("expected a network with a name");
  }

  void check_byte_order() const {
    for (const char* name : {"byteorder", ".data/byteorder"})
      if (has(root_ + name) &&
          as_text(archive_.read(root_ + name, kMostShortBytes)) != "little")
        fail(ErrorKind::kUnsupported, subject_,
             "expected little-endian numbers, got another order");
  }

  // Raw storages with a description (since PyTorch 2.9), or one pickle.
  void read_folder(const std::string& folder, const std::string& config_end) {
    const std::string config = folder + model_ + config_end;
    if (!has(config)) {
      read_pickled(folder + model_ + ".pt");
      return;
    }
    const std::string subject = archive_.subject_of(config);
    const nlohmann::json json = parse_bounded_json(
        as_text(archive_.read(config, kMostJsonBytes)), subject);
    JsonPlace(json, subject)
        .at("config")
        .each_entry([&](const std::string& name, const JsonPlace& payload) {
          if (payload.at("use_pickle").boolean()) return;  // no tensor
          add(name, read_raw(name, folder + payload.at("path_name").text(),
                             payload.at("tensor_meta")));
        });
  }

  ExportedTensor read_raw(const std::string& name, const std::string& member,
                          const JsonPlace& meta) {
    ExportedTensor tensor;
    const int64_t type = meta.at("dtype").integer();
    tensor.type =
        type > 0 && type <= static_cast<int64_t>(ExportedType::kBfloat16)
            ? static_cast<ExportedType>(type)
            : ExportedType::kComplex32;  // not taken either
    const auto numbers = [&](const char* key) {
      std::vector<int64_t> read;
      meta.at(key).each([&](const JsonPlace& extent) {
        if (read.size() == kMostDimensions)
          damaged("tensor " + printable(name) + " has too many dimensions");
        read.push_back(extent.at("as_int").integer());
      });
      return read;
    };
    tensor.sizes = numbers("sizes");
    tensor.strides = numbers("strides");
    tensor.offset = meta.at("storage_offset").at("as_int").integer();
    if (!has(member))
      damaged("tensor " + printable(name) + " lies in " + printable(member) +
              ", which is not there");
    auto& storage = storages_[member];
    if (!storage.data) storage = archive_.read(member);
    tensor.storage = storage;
    check(name, tensor);
    return tensor;
  }

  void check(const std::string& name, const ExportedTensor& tensor) const {
    const std::string subject = subject_ + ": tensor " + printable(name);
    const int64_t width = element_size(tensor.type);
    if (width == 0)
      fail(ErrorKind::kUnsupported, subject,
           "expected whole numbers, truth values or numbers of 16, 32 or 64 "
           "bits");
    const auto elements = static_cast<int64_t>(tensor.storage.size) / width;
    int64_t count = 1, last = tensor.offset;
    bool fits =
        tensor.sizes.size() == tensor.strides.size() && tensor.offset >= 0;
    bool is_empty = false;
    for (size_t i = 0; fits && i < tensor.sizes.size(); ++i) {
      const int64_t size = tensor.sizes[i], stride = tensor.strides[i];
      int64_t reach = 0;
      is_empty = is_empty || size == 0;
      fits =
          size >= 0 && stride >= 0 &&
          !__builtin_mul_overflow(count, size == 0 ? 1 : size, &count) &&
          !__builtin_mul_overflow(size == 0 ? 0 : size - 1, stride, &reach) &&
          !__builtin_add_overflow(last, reach, &last);
    }
    if (!fits || tensor.offset > elements ||
        (!is_empty && (last >= elements || count > elements)))
      fail(ErrorKind::kBadFormat, subject,
           "does not lie within its " + std::to_string(elements) + " elements");
  }

  // Tied weights share storages. Thousands of tensors over a large one would
  // take all memory when they are copied.
  void check_sharing(const ExportedProgram& program) const {
    constexpr double kMostSharing = 16;
    std::map<const std::byte*, size_t> storages;
    double bytes = 0, stored = 0;
    for (const auto& [name, tensor] : program.tensors) {
      bytes += static_cast<double>(tensor.storage.size);
      storages[tensor.storage.data.get()] = tensor.storage.size;
    }
    for (const auto& [data, size] : storages)
      stored += static_cast<double>(size);
    if (bytes > kMostSharing * stored)
      damaged("more than 16 tensors share their storages on average");
  }

  // A dict of tensors as torch.save() writes it.
  void read_pickled(const std::string& member) {
    if (!has(member))
      damaged("expected a member " + printable(member) + ", got none");
    const std::string subject = archive_.subject_of(member);
    // An archive within an archive could grow a million times.
    if (archive_.members().at(member).method != 0)
      fail(ErrorKind::kUnsupported, subject,
           "expected a member that is stored, got a compressed one");
    const SharedBytes bytes = archive_.read(member);
    if (bytes.size == 0) return;  // nothing was saved
    const auto container = open_torch_container(bytes, subject);
    const Pickle& pickle = container->object();
    const PickleValue& dict = pickle.at(pickle.root);
    if (dict.kind != PickleKind::kDict)
      fail(ErrorKind::kBadFormat, subject, "expected a dict of tensors");
    TorchTensors tensors(*container, subject);
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& key = pickle.item(dict, i);
      const PickleValue& value = pickle.item(dict, i + 1);
      if (key.kind != PickleKind::kText || !TorchTensors::is_tensor(value))
        continue;
      const std::string name(key.text);
      add(name, of_array(tensors.rebuild(value, name)));
    }
  }

  static ExportedTensor of_array(const Array& array) {
    ExportedTensor tensor;
    tensor.type = exported(array.type);
    tensor.sizes = array.shape;
    tensor.strides.assign(array.shape.size(), 1);
    for (size_t i = array.shape.size(); i-- > 1;)
      tensor.strides[i - 1] = tensor.strides[i] * array.shape[i];
    tensor.storage = {array.data, static_cast<size_t>(array.bytes())};
    return tensor;
  }

  void add(const std::string& name, ExportedTensor tensor) {
    if (!tensors_.emplace(name, std::move(tensor)).second)
      damaged("two tensors are named " + printable(name));
  }

  const ExportedTensor& tensor_of(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      damaged("the graph takes tensor " + printable(name) +
              ", which is not there");
    return found->second;
  }

  ZipArchive archive_;
  std::string subject_;
  std::string root_, model_;  // of the new layout
  std::map<std::string, SharedBytes> storages_;
  std::map<std::string, ExportedTensor> tensors_;
};

}  // namespace

int64_t element_size(ExportedType type) {
  switch (type) {
    case ExportedType::kUint8:
    case ExportedType::kInt8:
    case ExportedType::kBool:
      return 1;
    case ExportedType::kInt16:
    case ExportedType::kFloat16:
    case ExportedType::kBfloat16:
      return 2;
    case ExportedType::kInt32:
    case ExportedType::kFloat32:
      return 4;
    case ExportedType::kInt64:
    case ExportedType::kFloat64:
      return 8;
    case ExportedType::kComplex32:
    case ExportedType::kComplex64:
    case ExportedType::kComplex128:
      break;
  }
  return 0;
}

ExportedProgram parse_exported_program(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject) {
  return ProgramReader({data, size}, subject).read();
}

ExportedProgram read_exported_program(const std::filesystem::path& path) {
  return ProgramReader(map_file(path), path.string()).read();
}

ExportedGraph read_exported_graph(const std::filesystem::path& path) {
  return ProgramReader(map_file(path), path.string()).read_graph();
}

}  // namespace sotta
