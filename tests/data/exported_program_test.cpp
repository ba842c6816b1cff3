#include "data/torch/exported_program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/pickle_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/zip_builder.h"

namespace sotta {
namespace {

using Json = nlohmann::json;
using testing::make_zip;
using testing::stored;
using testing::ZipEntry;

const std::string kGraph = R"({
  "schema_version": {"major": 8}, "graph_module": {
    "graph": {"nodes": [], "tensor_values": {"x": {"sizes": []}}},
    "signature": {
      "input_specs": [
        {"buffer": {"arg": {"name": "b"}, "buffer_name": "weight"}},
        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "x"}}}}]}
  }})";

// A tensor [2, 3] of float32 in a storage of six.
Json payload() {
  return Json::parse(R"({
    "path_name": "weight_0", "use_pickle": false, "tensor_meta": {
      "dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 3}],
      "strides": [{"as_int": 3}, {"as_int": 1}],
      "storage_offset": {"as_int": 0}}})");
}

struct Parts {
  std::string format = "pt2";
  std::string byte_order = "little";
  std::string graph = kGraph;
  Json weight = payload();
  std::string storage = std::string(24, 'x');
  std::vector<ZipEntry> others;
};

std::string archive_of(const Parts& parts) {
  const Json config = {{"config", {{"weight", parts.weight}}}};
  std::vector<ZipEntry> entries = {
      stored("net/archive_format", parts.format),
      stored("net/byteorder", parts.byte_order),
      stored("net/models/model.json", parts.graph),
      stored("net/data/weights/model_weights_config.json", config.dump()),
      stored("net/data/weights/weight_0", parts.storage),
      stored("net/data/constants/model_constants_config.json",
             R"({"config": {}})")};
  entries.insert(entries.end(), parts.others.begin(), parts.others.end());
  return make_zip(entries);
}

ExportedProgram parse(const std::string& file) {
  const SharedBytes bytes = borrow_bytes(
      reinterpret_cast<const std::byte*>(file.data()), file.size());
  return parse_exported_program(bytes.data, bytes.size, "net.pt2");
}

void expect_error(ErrorKind kind, const std::string& file,
                  const std::string& why) {
  testing::expect_error(kind, why, [&] { parse(file); });
}

TEST(ExportedProgramFile, TensorsAreViewsOfStorages) {
  const std::string file = archive_of({});
  const ExportedProgram program = parse(file);
  ASSERT_EQ(program.tensors.size(), 1u);
  const ExportedTensor& tensor = program.tensors.at("weight");
  EXPECT_EQ(tensor.type, ExportedType::kFloat32);
  EXPECT_EQ(tensor.sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor.strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(tensor.storage.size, 24u);
}

TEST(ExportedProgramFile, TensorsLieInTheirStorages) {
  const auto changed = [](const char* key, size_t place, int64_t number) {
    Parts parts;
    parts.weight["tensor_meta"][key][place]["as_int"] = number;
    return archive_of(parts);
  };
  const std::string why = "does not lie within its 6 elements";
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const int64_t number : {int64_t{3}, int64_t{-1}, most})
    expect_error(ErrorKind::kBadFormat, changed("sizes", 0, number), why);
  for (const int64_t number : {int64_t{4}, int64_t{-1}, most})
    expect_error(ErrorKind::kBadFormat, changed("strides", 0, number), why);
  EXPECT_NO_THROW(parse(changed("sizes", 0, 0)));

  Parts parts;
  parts.weight["tensor_meta"]["storage_offset"]["as_int"] = 1;
  expect_error(ErrorKind::kBadFormat, archive_of(parts), why);
  parts = {};
  parts.weight["tensor_meta"]["strides"] = Json::array();
  expect_error(ErrorKind::kBadFormat, archive_of(parts), why);
  // Expanded: more elements than the storage has.
  parts = {};
  parts.weight["tensor_meta"]["sizes"][0]["as_int"] = 1 << 20;
  parts.weight["tensor_meta"]["strides"][0]["as_int"] = 0;
  expect_error(ErrorKind::kBadFormat, archive_of(parts), why);
}

TEST(ExportedProgramFile, TypesThatNoWeightHasAreRefused) {
  for (const int64_t type :
       {int64_t{0}, int64_t{10}, int64_t{29}, (int64_t{1} << 32) + 7}) {
    Parts parts;
    parts.weight["tensor_meta"]["dtype"] = type;
    expect_error(ErrorKind::kUnsupported, archive_of(parts),
                 "net.pt2: tensor \"weight\": expected whole numbers");
  }
}

TEST(ExportedProgramFile, AStorageIsNotSharedByThousands) {
  Json graph = Json::parse(kGraph);
  Json config;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "w" + std::to_string(i);
    config["config"][name] = payload();
    graph["graph_module"]["signature"]["input_specs"].push_back(
        {{"buffer", {{"arg", {{"name", name}}}, {"buffer_name", name}}}});
  }
  config["config"]["weight"] = payload();
  const std::string file = make_zip(
      {stored("net/archive_format", "pt2"),
       stored("net/models/model.json", graph.dump()),
       stored("net/data/weights/model_weights_config.json", config.dump()),
       stored("net/data/weights/weight_0", std::string(24, 'x')),
       stored("net/data/constants/model_constants_config.json",
              R"({"config": {}})")});
  expect_error(ErrorKind::kBadFormat, file,
               "more than 16 tensors share their storages on average");
}

TEST(ExportedProgramFile, WhatIsMissingIsNamed) {
  Parts parts;
  parts.weight["path_name"] = "weight_1";
  expect_error(ErrorKind::kBadFormat, archive_of(parts),
               "tensor \"weight\" lies in \"net/data/weights/weight_1\", which "
               "is not there");
  parts = {};
  parts.weight["use_pickle"] = true;
  expect_error(ErrorKind::kBadFormat, archive_of(parts),
               "the graph takes tensor \"weight\", which is not there");
  expect_error(ErrorKind::kBadFormat, make_zip({stored("a/b", "")}),
               "expected an archive of torch.export");
  expect_error(ErrorKind::kUnsupported,
               make_zip({stored("net/archive_format", "pt2"),
                         stored("net/data/aotinductor/model/a.so", "")}),
               "expected a graph as torch.export.save writes it");
}

TEST(ExportedProgramFile, ItIsOneLittleEndianNetwork) {
  Parts parts;
  parts.byte_order = "big";
  expect_error(ErrorKind::kUnsupported, archive_of(parts), "little-endian");
  parts = {};
  parts.format = "pt3";
  expect_error(ErrorKind::kBadFormat, archive_of(parts), "expected \"pt2\"");
  parts = {};
  parts.others = {stored("net/models/other.json", kGraph)};
  expect_error(ErrorKind::kUnsupported, archive_of(parts),
               "expected one network, got 2");
}

TEST(ExportedProgramFile, DamageAnywhereIsAnError) {
  const std::string file = archive_of({});
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_THROW(parse(file.substr(0, length)), Error) << length;
}

std::string golden(const std::string& name) {
  return std::string(testing::golden_dir()) + "/exported/" + name;
}

TEST(ExportedProgramFile, OldLayoutsHoldTheSameTensors) {
  const ExportedProgram now = read_exported_program(golden("tiny.pt2"));
  const ExportedProgram old = read_exported_program(golden("tiny_old.pt2"));
  EXPECT_EQ(now.graph.torch_version.substr(0, 4), "2.11");
  ASSERT_EQ(now.tensors.size(), old.tensors.size());
  for (const auto& [name, tensor] : now.tensors) {
    const ExportedTensor& other = old.tensors.at(name);
    EXPECT_EQ(tensor.sizes, other.sizes) << name;
    ASSERT_EQ(tensor.storage.size, other.storage.size) << name;
    EXPECT_EQ(std::memcmp(tensor.storage.data.get(), other.storage.data.get(),
                          tensor.storage.size),
              0)
        << name;
  }
  EXPECT_EQ(read_exported_graph(golden("tiny.pt2")).image_shape[2], 16);
}

}  // namespace
}  // namespace sotta
