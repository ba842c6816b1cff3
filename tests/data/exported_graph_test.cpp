#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/torch/exported_program.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using Json = nlohmann::json;
using Kind = ExportedItem::Kind;

// y = add(x, w): the least there is.
Json least() {
  return Json::parse(R"({
    "schema_version": {"major": 8, "minor": 17}, "torch_version": "2.11.0",
    "graph_module": {
      "graph": {
        "nodes": [{"target": "torch.ops.aten.add.Tensor", "inputs": [
          {"name": "self", "arg": {"as_tensor": {"name": "x"}}},
          {"name": "other", "arg": {"as_tensor": {"name": "w"}}}],
          "outputs": [{"as_tensor": {"name": "y"}}]}],
        "tensor_values": {
          "x": {"sizes": [{"as_expr": {"expr_str": "s77"}}, {"as_int": 3}]},
          "y": {"sizes": [{"as_expr": {"expr_str": "s77"}}, {"as_int": 5}]}}},
      "signature": {
        "input_specs": [
          {"parameter": {"arg": {"name": "w"}, "parameter_name": "fc.weight"}},
          {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
        "output_specs": [
          {"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}}})");
}

Json& graph_of(Json& program) {
  return program["graph_module"]["graph"];
}
Json& inputs_of(Json& program) {
  return program["graph_module"]["signature"]["input_specs"];
}
Json& node_of(Json& program) {
  return graph_of(program)["nodes"][0];
}

ExportedGraph parse(const Json& program) {
  return parse_exported_graph(program.dump(), "net");
}

// The argument that this JSON is.
ExportedArgument argument(const std::string& json) {
  Json program = least();
  node_of(program)["inputs"].push_back(
      {{"name", "alpha"}, {"arg", Json::parse(json)}});
  return parse(program).nodes[0].arguments[2];
}

void expect_error(ErrorKind kind, const Json& program, const std::string& why) {
  testing::expect_error(kind, "net: " + why, [&] { parse(program); });
}

TEST(ExportedGraph, ValuesAreNumbered) {
  const ExportedGraph graph = parse(least());
  EXPECT_EQ(graph.torch_version, "2.11.0");
  ASSERT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.inputs[0].kind, ExportedInput::Kind::kParameter);
  EXPECT_EQ(graph.inputs[0].name, "fc.weight");
  EXPECT_EQ(graph.inputs[1].kind, ExportedInput::Kind::kImages);
  EXPECT_EQ(graph.values, 3u);
  EXPECT_EQ(graph.output, 2u);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].target, "torch.ops.aten.add.Tensor");
  EXPECT_EQ(graph.nodes[0].arguments[0].name, "self");
  EXPECT_EQ(graph.nodes[0].arguments[0].items[0].value, 1u);
  EXPECT_EQ(graph.nodes[0].results[0].values, std::vector<size_t>{2});
  EXPECT_EQ(graph.image_shape,
            (std::vector<std::optional<int64_t>>{std::nullopt, 3}));
  EXPECT_EQ(graph.output_shape[1], 5);
}

TEST(ExportedGraph, ArgumentsAreOfManyKinds) {
  EXPECT_EQ(argument(R"({"as_none": true})").items[0].kind, Kind::kNone);
  EXPECT_EQ(argument(R"({"as_int": -7})").items[0].integer, -7);
  EXPECT_EQ(argument(R"({"as_float": 0.5})").items[0].real, .5);
  EXPECT_EQ(argument(R"({"as_float": "-Infinity"})").items[0].kind,
            Kind::kFloat);
  EXPECT_EQ(argument(R"({"as_bool": true})").items[0].integer, 1);
  EXPECT_EQ(argument(R"({"as_string": "none"})").items[0].text, "none");
  EXPECT_EQ(argument(R"({"as_scalar_type": 7})").items[0].kind, Kind::kType);
  EXPECT_EQ(argument(R"({"as_layout": 7})").items[0].kind, Kind::kLayout);
  EXPECT_EQ(argument(R"({"as_memory_format": 1})").items[0].kind,
            Kind::kFormat);
  EXPECT_EQ(argument(R"({"as_device": {"type": "cpu"}})").items[0].text, "cpu");
  EXPECT_EQ(argument(R"({"as_sym_int": {"as_name": "x"}})").items[0].value, 1u);
  EXPECT_EQ(argument(R"({"as_sym_bool": {"as_bool": false}})").items[0].kind,
            Kind::kBool);
  EXPECT_EQ(argument(R"({"as_graph": {"name": "g"}})").items[0].text,
            "as_graph");

  const auto sizes =
      argument(R"({"as_sym_ints": [{"as_name": "x"}, {"as_int": 4}]})");
  EXPECT_TRUE(sizes.is_list);
  ASSERT_EQ(sizes.items.size(), 2u);
  EXPECT_EQ(sizes.items[0].kind, Kind::kValue);
  EXPECT_EQ(sizes.items[1].integer, 4);
  const auto indices = argument(
      R"({"as_optional_tensors": [{"as_none": true},
                                  {"as_tensor": {"name": "w"}}]})");
  EXPECT_EQ(indices.items[0].kind, Kind::kNone);
  EXPECT_EQ(indices.items[1].kind, Kind::kValue);
  EXPECT_TRUE(argument(R"({"as_ints": []})").items.empty());
}

TEST(ExportedGraph, NodesMayGiveSizesListsOrNothing) {
  Json program = least();
  graph_of(program)["nodes"].push_back(Json::parse(R"({
    "target": "many", "inputs": [], "outputs": [
      {"as_sym_int": {"as_name": "n"}}, {"as_none": true},
      {"as_tensors": [{"name": "a"}, {"name": "b"}]}]})"));
  const auto results = parse(program).nodes[1].results;
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].values, std::vector<size_t>{3});
  EXPECT_TRUE(results[1].values.empty());
  EXPECT_TRUE(results[2].is_list);
  EXPECT_EQ(results[2].values, (std::vector<size_t>{4, 5}));
}

TEST(ExportedGraph, WhatTrainingLeavesInBuffersIsNotTheOutput) {
  Json program = least();
  auto& outputs = program["graph_module"]["signature"]["output_specs"];
  outputs.insert(outputs.begin(),
                 Json::parse(R"({"buffer_mutation": {"arg": {"name": "w"},
                                 "buffer_name": "count"}})"));
  EXPECT_EQ(parse(program).output, 2u);
}

TEST(ExportedGraph, OneTensorGoesInAndOneComesOut) {
  const std::string why =
      "expected a network that takes one tensor and gives one";
  Json program = least();
  const Json images = inputs_of(program)[1];
  inputs_of(program).erase(1);
  expect_error(ErrorKind::kUnsupported, program, why);

  program = least();
  inputs_of(program).push_back(
      Json::parse(R"({"user_input": {"arg": {"as_tensor": {"name": "z"}}}})"));
  expect_error(ErrorKind::kUnsupported, program, why);

  program = least();
  auto& outputs = program["graph_module"]["signature"]["output_specs"];
  outputs.push_back(outputs[0]);
  expect_error(ErrorKind::kUnsupported, program, why);
  outputs = Json::array();
  expect_error(ErrorKind::kUnsupported, program, why);
}

TEST(ExportedGraph, WhatIsNotAsItShouldBeIsNamed) {
  Json program = least();
  program["schema_version"]["major"] = 9;
  expect_error(ErrorKind::kUnsupported, program,
               "expected version 8 of torch.export's schema");

  program = least();
  node_of(program)["inputs"][0]["arg"]["as_tensor"]["name"] = "y";
  expect_error(ErrorKind::kBadFormat, program,
               "value \"y\" is used before it is given");

  program = least();
  node_of(program)["outputs"][0]["as_tensor"]["name"] = "x";
  expect_error(ErrorKind::kBadFormat, program, "value \"x\" is given twice");

  program = least();
  inputs_of(program)[0] = Json::parse(R"({"custom_obj": {}})");
  expect_error(
      ErrorKind::kUnsupported, program,
      "expected a network of tensors, its graph takes a \"custom_obj\"");

  program = least();
  node_of(program)["outputs"][0] = Json::parse(R"({"as_custom_obj": {}})");
  expect_error(ErrorKind::kUnsupported, program,
               "expected nodes that give tensors and sizes");

  program = least();
  node_of(program)["inputs"][0]["arg"] =
      Json::parse(R"({"as_sym_int": {"as_sym_int": {"as_int": 1}}})");
  expect_error(ErrorKind::kBadFormat, program, "expected a value");
}

TEST(ExportedGraph, EveryMissingPartIsAnError) {
  const std::string text = least().dump();
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_THROW(parse_exported_graph(text.substr(0, length), "net"), Error);
  for (const char* part : {"schema_version", "graph_module"}) {
    Json program = least();
    program.erase(part);
    EXPECT_THROW(parse(program), Error) << part;
  }
  for (const char* part : {"nodes", "tensor_values"}) {
    Json program = least();
    graph_of(program).erase(part);
    EXPECT_THROW(parse(program), Error) << part;
  }
}

}  // namespace
}  // namespace sotta
