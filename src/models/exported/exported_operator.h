#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include "data/torch/exported_program.h"

namespace sotta {

// What a node calls: takes its arguments from a stack, all that the schema
// has, and leaves its results there.
struct ExportedOperator {
  std::string name;  // "aten::conv2d"
  c10::FunctionSchema schema;
  std::function<void(torch::jit::Stack&)> call;
  bool is_positional = false;  // arguments have no names that can be relied on
};

// The operator of that name ("torch.ops.aten.conv2d.default", "_operator.add"):
// one of exported_substitutes.h, or one of LibTorch's dispatcher. None if
// neither has it, or it is none that a network may call.
std::optional<ExportedOperator> find_operator(const std::string& target);

// How a message calls an operator: "aten::rms_norm", "_operator.getitem".
std::string operator_name(const std::string& target);

// An operator with the arguments of a node: constants, and values of the graph
// by number. Arguments that the node does not give have their defaults; every
// device becomes `device`. Throws Error(kUnsupported) naming `subject` for
// arguments that the operator does not take.
class ExportedCall {
 public:
  ExportedCall(ExportedOperator callee, const ExportedNode& node,
               c10::Device device, const std::string& subject);

  // Reads the arguments among all values of the graph, and writes the results.
  // Throws what the operator throws, and std::runtime_error for values of a
  // type that it does not take.
  void run(std::vector<c10::IValue>& values) const;

 private:
  // One argument, of the schema's type: constants and values mixed.
  struct Operand {
    c10::TypePtr type;
    bool is_list = false;
    struct Item {
      c10::IValue constant;
      std::optional<size_t> value;
    };
    std::vector<Item> items;
  };

  [[noreturn]] void refuse(const std::string& problem) const;
  Operand make_operand(const c10::Argument& wanted,
                       const ExportedArgument& given, c10::Device device) const;
  static c10::IValue value_of(const Operand& operand,
                              const std::vector<c10::IValue>& values);

  ExportedOperator callee_;
  std::vector<Operand> operands_;
  std::vector<ExportedResult> results_;
  std::string subject_;
};

}  // namespace sotta
