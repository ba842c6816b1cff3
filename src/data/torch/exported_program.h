#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/mapped_file.h"

namespace sotta {

// The element types of tensors, by the numbers that torch.export gives them.
enum class ExportedType {
  kUint8 = 1,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kBool,
  kBfloat16,
};

// Bytes of an element; 0 for a type that is not taken as a weight.
int64_t element_size(ExportedType type);

// A tensor as the file has it: a view of a storage. Checked to lie within it,
// and to have no more elements than it.
struct ExportedTensor {
  ExportedType type = ExportedType::kFloat32;
  std::vector<int64_t> sizes, strides;  // strides in elements
  int64_t offset = 0;                   // in elements
  SharedBytes storage;
};

// What an argument of a node consists of.
struct ExportedItem {
  enum class Kind {
    kNone,
    kValue,  // of the graph, by number
    kInt,
    kFloat,
    kBool,
    kText,
    kType,    // `integer` as torch.export numbers element types
    kFormat,  // `integer` as it numbers memory formats
    kLayout,  // `integer` as it numbers layouts
    kDevice,
    kOther,  // what no network of plain operators needs, named by `text`
  };
  Kind kind = Kind::kNone;
  size_t value = 0;
  int64_t integer = 0;  // kInt, kBool and those above
  double real = 0;
  std::string text;
};

struct ExportedArgument {
  std::string name;  // in the operator's schema
  bool is_list = false;
  std::vector<ExportedItem> items;  // one, if it is no list
};

// What a node gives: one value, a list of them, or nothing.
struct ExportedResult {
  bool is_list = false;
  std::vector<size_t> values;
};

struct ExportedNode {
  std::string target;  // "torch.ops.aten.conv2d.default", "_operator.add"
  std::vector<ExportedArgument> arguments;
  std::vector<ExportedResult> results;
};

// A tensor that the graph takes. Its value has the same number as its place
// among the inputs.
struct ExportedInput {
  enum class Kind { kImages, kParameter, kBuffer, kConstant };
  Kind kind = Kind::kImages;
  std::string name;  // "layer1.0.bn1.weight"; of images that in the graph
};

// A graph whose values are numbered: first the inputs, then what the nodes
// give, in their order. A node uses only values that come before it.
struct ExportedGraph {
  std::vector<ExportedInput> inputs;  // one of them the images
  std::vector<ExportedNode> nodes;
  size_t values = 0;  // how many
  size_t output = 0;  // the one that the network gives

  // The extents of images and output; none where the export left it open.
  std::vector<std::optional<int64_t>> image_shape, output_shape;
  std::string torch_version;
};

// A network from torch.export.save() (PyTorch 2.5 and later).
struct ExportedProgram {
  ExportedGraph graph;
  std::map<std::string, ExportedTensor> tensors;  // of all inputs but images
};

// Reads a `.pt2` archive. Nothing in it is executed: the graph is JSON, weights
// are raw bytes, or, as before PyTorch 2.9, a pickle that is read as data
// (pickle.h).
//
// Throws Error(kBadFormat) for damage, Error(kUnsupported) for a network that
// does not take one tensor and give one, or that consists of compiled code,
// Error(kNotFound) if there is no file.
ExportedProgram read_exported_program(const std::filesystem::path& path);

// The same from memory, which the result shares; `subject` is named in
// messages.
ExportedProgram parse_exported_program(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject);

// Only the graph, of a whole archive and of the JSON in it.
ExportedGraph read_exported_graph(const std::filesystem::path& path);
ExportedGraph parse_exported_graph(std::string_view json,
                                   const std::string& subject);

}  // namespace sotta
