// The JSON of a .pt2 archive: torch/_export/serde/schema.py of PyTorch says
// what it holds. A union is an object with one entry, {"as_int": 3}.
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"

#include "data/formats/printable.h"
#include "data/torch/bounded_json.h"
#include "data/torch/exported_program.h"

namespace sotta {
namespace {

using Kind = ExportedItem::Kind;

// The major version of the schema since PyTorch 2.5.
constexpr int64_t kSchemaVersion = 8;

class GraphReader {
 public:
  GraphReader(const nlohmann::json& program, const std::string& subject)
      : program_(program, subject), subject_(subject) {}

  ExportedGraph read() {
    check_version();
    const JsonPlace module = program_.at("graph_module");
    const JsonPlace graph = module.at("graph");
    module.at("signature").at("input_specs").each([&](const JsonPlace& spec) {
      read_input(spec);
    });
    require_one_image_input(graph.at("tensor_values"));
    graph.at("nodes").each([&](const JsonPlace& node) { read_node(node); });
    read_output(module.at("signature").at("output_specs"),
                graph.at("tensor_values"));
    result_.values = numbers_.size();
    return std::move(result_);
  }

 private:
  [[noreturn]] void damaged(const std::string& problem) const {
    fail(ErrorKind::kBadFormat, subject_, problem);
  }

  void check_version() {
    if (program_.has("torch_version"))
      result_.torch_version = program_.at("torch_version").text();
    const int64_t major = program_.at("schema_version").at("major").integer();
    if (major != kSchemaVersion)
      fail(ErrorKind::kUnsupported, subject_,
           "expected version " + std::to_string(kSchemaVersion) +
               " of torch.export's schema (PyTorch 2.5 to 2.11), got " +
               std::to_string(major));
  }

  size_t define(const std::string& name) {
    const auto [entry, is_new] = numbers_.emplace(name, numbers_.size());
    if (!is_new) damaged("value " + printable(name) + " is given twice");
    return entry->second;
  }

  size_t number_of(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end())
      damaged("value " + printable(name) + " is used before it is given");
    return found->second;
  }

  void read_input(const JsonPlace& spec) {
    using Input = ExportedInput::Kind;
    const auto [kind, of] = spec.choice();
    if (kind == "constant_input") return;  // a number in the call: not used
    if (kind == "parameter") {
      add_input(of, Input::kParameter, "parameter_name");
    } else if (kind == "buffer") {
      add_input(of, Input::kBuffer, "buffer_name");
    } else if (kind == "tensor_constant") {
      add_input(of, Input::kConstant, "tensor_constant_name");
    } else if (kind == "user_input") {
      const auto [type, value] = of.at("arg").choice();
      if (type == "as_none") return;
      if (type != "as_tensor") refuse_signature();
      const std::string name = value.at("name").text();
      define(name);
      result_.inputs.push_back({Input::kImages, name});
    } else {
      fail(ErrorKind::kUnsupported, subject_,
           "expected a network of tensors, its graph takes a " +
               printable(kind));
    }
  }

  void add_input(const JsonPlace& of, ExportedInput::Kind kind,
                 const char* name) {
    define(of.at("arg").at("name").text());
    result_.inputs.push_back({kind, of.at(name).text()});
  }

  [[noreturn]] void refuse_signature() const {
    fail(ErrorKind::kUnsupported, subject_,
         "expected a network that takes one tensor and gives one");
  }

  void require_one_image_input(const JsonPlace& tensors) {
    std::string images;
    for (const ExportedInput& input : result_.inputs) {
      if (input.kind != ExportedInput::Kind::kImages) continue;
      if (!images.empty()) refuse_signature();
      images = input.name;
    }
    if (images.empty()) refuse_signature();
    result_.image_shape = read_shape(tensors.at(images.c_str()));
  }

  std::vector<std::optional<int64_t>> read_shape(const JsonPlace& tensor) {
    std::vector<std::optional<int64_t>> shape;
    tensor.at("sizes").each([&](const JsonPlace& size) {
      const auto [type, value] = size.choice();
      shape.push_back(type == "as_int" ? std::optional(value.integer())
                                       : std::nullopt);
    });
    return shape;
  }

  void read_node(const JsonPlace& node) {
    ExportedNode read;
    read.target = node.at("target").text();
    node.at("inputs").each([&](const JsonPlace& input) {
      ExportedArgument argument = read_argument(input.at("arg"));
      argument.name = input.at("name").text();
      read.arguments.push_back(std::move(argument));
    });
    node.at("outputs").each([&](const JsonPlace& output) {
      read.results.push_back(read_result(output));
    });
    result_.nodes.push_back(std::move(read));
  }

  ExportedArgument read_argument(const JsonPlace& argument) const {
    const auto [type, value] = argument.choice();
    static const std::unordered_map<std::string, std::string> kLists = {
        {"as_tensors", "as_tensor"},
        {"as_ints", "as_int"},
        {"as_floats", "as_float"},
        {"as_bools", "as_bool"},
        {"as_strings", "as_string"},
        {"as_sym_ints", "as_sym_int"},
        {"as_sym_floats", "as_sym_float"},
        {"as_sym_bools", "as_sym_bool"},
        {"as_optional_tensors", "as_optional_tensor"}};
    ExportedArgument read;
    const auto list = kLists.find(type);
    read.is_list = list != kLists.end();
    if (!read.is_list) {
      read.items.push_back(read_item(type, value));
      return read;
    }
    value.each([&](const JsonPlace& item) {
      read.items.push_back(read_item(list->second, item));
    });
    return read;
  }

  ExportedItem read_item(const std::string& type,
                         const JsonPlace& value) const {
    ExportedItem item;
    if (type == "as_none") return item;
    if (type == "as_tensor") {
      item.kind = Kind::kValue;
      item.value = number_of(value.at("name").text());
    } else if (type == "as_name") {
      item.kind = Kind::kValue;
      item.value = number_of(value.text());
    } else if (type == "as_sym_int" || type == "as_sym_float" ||
               type == "as_sym_bool" || type == "as_optional_tensor") {
      const auto [inner, content] = value.choice();
      const bool is_nested =
          inner.compare(0, 6, "as_sym") == 0 || inner == "as_optional_tensor";
      if (is_nested) damaged("expected a value, got " + printable(inner));
      return read_item(inner, content);
    } else {
      read_constant(type, value, item);
    }
    return item;
  }

  void read_constant(const std::string& type, const JsonPlace& value,
                     ExportedItem& item) const {
    static const std::unordered_map<std::string, Kind> kCodes = {
        {"as_int", Kind::kInt},
        {"as_scalar_type", Kind::kType},
        {"as_memory_format", Kind::kFormat},
        {"as_layout", Kind::kLayout}};
    const auto code = kCodes.find(type);
    if (code != kCodes.end()) {
      item.kind = code->second;
      item.integer = value.integer();
    } else if (type == "as_bool") {
      item.kind = Kind::kBool;
      item.integer = value.boolean() ? 1 : 0;
    } else if (type == "as_float") {
      item.kind = Kind::kFloat;
      item.real = value.real();
    } else if (type == "as_string") {
      item.kind = Kind::kText;
      item.text = value.text();
    } else if (type == "as_device") {
      item.kind = Kind::kDevice;
      item.text = value.at("type").text();
    } else {
      item.kind = Kind::kOther;
      item.text = type;
    }
  }

  ExportedResult read_result(const JsonPlace& output) {
    const auto [type, value] = output.choice();
    ExportedResult result;
    if (type == "as_tensor") {
      result.values.push_back(define(value.at("name").text()));
    } else if (type == "as_sym_int" || type == "as_sym_float" ||
               type == "as_sym_bool") {
      result.values.push_back(define(value.at("as_name").text()));
    } else if (type == "as_tensors") {
      result.is_list = true;
      value.each([&](const JsonPlace& tensor) {
        result.values.push_back(define(tensor.at("name").text()));
      });
    } else if (type != "as_none") {
      fail(ErrorKind::kUnsupported, subject_,
           "expected nodes that give tensors and sizes, one gives " +
               printable(type));
    }
    return result;
  }

  // What training leaves in buffers is given too, and not looked at.
  void read_output(const JsonPlace& specs, const JsonPlace& tensors) {
    size_t found = 0;
    specs.each([&](const JsonPlace& spec) {
      const auto [kind, of] = spec.choice();
      if (kind != "user_output") return;
      const auto [type, value] = of.at("arg").choice();
      if (type != "as_tensor" || ++found > 1) refuse_signature();
      const std::string name = value.at("name").text();
      result_.output = number_of(name);
      result_.output_shape = read_shape(tensors.at(name.c_str()));
    });
    if (found == 0) refuse_signature();
  }

  JsonPlace program_;
  const std::string& subject_;
  ExportedGraph result_;
  std::unordered_map<std::string, size_t> numbers_;  // of values, by name
};

}  // namespace

ExportedGraph parse_exported_graph(std::string_view json,
                                   const std::string& subject) {
  const nlohmann::json program = parse_bounded_json(json, subject);
  return GraphReader(program, subject).read();
}

}  // namespace sotta
