#include "models/exported/exported_operator.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "sotta/core/error.h"

#include "data/formats/printable.h"
#include "models/exported/exported_substitutes.h"

namespace sotta {
namespace {

using Kind = ExportedItem::Kind;

constexpr std::string_view kOperators = "torch.ops.aten.";

// What opens files, or takes memory that belongs to somebody else.
constexpr std::string_view kForbidden[] = {
    "from_file", "set_", "resize_", "resize_as_", "set_data", "record_stream"};

std::optional<c10::OperatorHandle> find_in_dispatcher(
    const std::string& target) {
  if (target.compare(0, kOperators.size(), kOperators) != 0) return {};
  const std::string rest = target.substr(kOperators.size());
  const size_t dot = rest.find('.');
  const std::string name = rest.substr(0, dot);
  if (std::count(std::begin(kForbidden), std::end(kForbidden), name) > 0)
    return {};
  std::string overload =
      dot == std::string::npos ? "default" : rest.substr(dot + 1);
  if (overload == "default") overload.clear();
  // An optional of LibTorch's own, or of the standard library: by release.
  const auto found =
      c10::Dispatcher::singleton().findSchema({"aten::" + name, overload});
  return found ? std::optional(*found) : std::nullopt;
}

// torch.export numbers element types from 1, and LibTorch has others between.
int64_t libtorch_type(int64_t code) {
  if (code >= static_cast<int64_t>(ExportedType::kUint8) &&
      code <= static_cast<int64_t>(ExportedType::kBool))
    return code - 1;
  if (code == static_cast<int64_t>(ExportedType::kBfloat16))
    return static_cast<int64_t>(c10::ScalarType::BFloat16);
  throw std::invalid_argument("element type " + std::to_string(code));
}

int64_t libtorch_format(int64_t code) {
  constexpr c10::MemoryFormat kFormats[] = {
      c10::MemoryFormat::Contiguous, c10::MemoryFormat::ChannelsLast,
      c10::MemoryFormat::ChannelsLast3d, c10::MemoryFormat::Preserve};
  if (code < 1 || code > 4)
    throw std::invalid_argument("memory format " + std::to_string(code));
  return static_cast<int64_t>(kFormats[code - 1]);
}

int64_t libtorch_layout(int64_t code) {
  constexpr int64_t kStrided = 7;
  if (code != kStrided)
    throw std::invalid_argument("a layout that is not strided");
  return static_cast<int64_t>(c10::Layout::Strided);
}

c10::IValue constant_of(const ExportedItem& item, c10::Device device) {
  switch (item.kind) {
    case Kind::kNone:
      return {};
    case Kind::kInt:
      return item.integer;
    case Kind::kFloat:
      return item.real;
    case Kind::kBool:
      return item.integer != 0;
    case Kind::kText:
      return item.text;
    case Kind::kType:
      return libtorch_type(item.integer);
    case Kind::kFormat:
      return libtorch_format(item.integer);
    case Kind::kLayout:
      return libtorch_layout(item.integer);
    case Kind::kDevice:
      return device;
    case Kind::kValue:
    case Kind::kOther:
      break;
  }
  throw std::invalid_argument(printable(item.text));
}

// A number where an operator takes a tensor, as Python passes it on: it does
// not count when the type of the result is found.
at::Tensor number_tensor(const c10::IValue& value) {
  at::Tensor tensor = c10::scalar_to_tensor(value.toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

// A value as an operator takes it; what does not fit throws.
c10::IValue as_type(const c10::IValue& value, const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      if (value.isNone()) return value;
      return as_type(value,
                     *type.expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::TensorType:
      if (value.isTensor() && value.toTensor().defined()) return value;
      if (value.isInt() || value.isDouble() || value.isBool())
        return number_tensor(value);
      break;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      if (value.isInt()) return value;
      break;
    case c10::TypeKind::FloatType:
      if (value.isDouble()) return value;
      if (value.isInt()) return static_cast<double>(value.toInt());
      break;
    case c10::TypeKind::BoolType:
      if (value.isBool()) return value;
      break;
    case c10::TypeKind::NumberType:
      if (value.isInt() || value.isDouble() || value.isBool()) return value;
      break;
    case c10::TypeKind::StringType:
      if (value.isString()) return value;
      break;
    case c10::TypeKind::DeviceObjType:
      if (value.isDevice()) return value;
      break;
    default:
      break;
  }
  throw std::invalid_argument("expected a " + type.str() + ", got a " +
                              value.tagKind());
}

const c10::Type& without_optional(const c10::Type& type) {
  return type.kind() == c10::TypeKind::OptionalType
             ? *type.expectRef<c10::OptionalType>().getElementType()
             : type;
}

c10::TypePtr list_element(const c10::Type& type) {
  const c10::Type& inner = without_optional(type);
  return inner.kind() == c10::TypeKind::ListType
             ? inner.expectRef<c10::ListType>().getElementType()
             : nullptr;
}

}  // namespace

std::string operator_name(const std::string& target) {
  std::string name = target;
  const std::string prefix = "torch.ops.";
  if (name.compare(0, prefix.size(), prefix) == 0) {
    name = name.substr(prefix.size());
    const size_t dot = name.find('.');
    if (dot != std::string::npos) name.replace(dot, 1, "::");
    const std::string usual = ".default";
    if (name.size() > usual.size() &&
        name.compare(name.size() - usual.size(), usual.size(), usual) == 0)
      name.resize(name.size() - usual.size());
  }
  const std::string shown = printable(name);
  return shown.substr(1, shown.size() - 2);  // without quotes
}

std::optional<ExportedOperator> find_operator(const std::string& target) {
  const auto handle = find_in_dispatcher(target);
  if (const ExportedSubstitute* ours = find_substitute(target))
    if (!ours->only_if_missing || !handle)
      return ExportedOperator{operator_name(target), ours->schema, ours->call,
                              ours->is_positional};
  if (!handle) return std::nullopt;
  return ExportedOperator{operator_name(target), handle->schema(),
                          [callee = *handle](torch::jit::Stack& stack) {
                            callee.callBoxed(&stack);
                          }};
}

ExportedCall::ExportedCall(ExportedOperator callee, const ExportedNode& node,
                           c10::Device device, const std::string& subject)
    : callee_(std::move(callee)), results_(node.results), subject_(subject) {
  const auto& wanted = callee_.schema.arguments();
  size_t taken = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto given = std::find_if(
        node.arguments.begin(), node.arguments.end(),
        [&](const ExportedArgument& argument) {
          return callee_.is_positional
                     ? static_cast<size_t>(&argument - &node.arguments[0]) == i
                     : argument.name == wanted[i].name();
        });
    if (given != node.arguments.end()) {
      operands_.push_back(make_operand(wanted[i], *given, device));
      ++taken;
      continue;
    }
    if (!wanted[i].default_value())
      refuse("lacks its argument " + wanted[i].name());
    operands_.push_back(
        {wanted[i].type(), false, {{*wanted[i].default_value(), {}}}});
  }
  if (taken != node.arguments.size())
    refuse("has an argument that this LibTorch does not know");
  if (results_.size() > callee_.schema.returns().size())
    refuse("gives fewer results here");
}

void ExportedCall::refuse(const std::string& problem) const {
  fail(ErrorKind::kUnsupported, subject_,
       "operator " + callee_.name + " " + problem);
}

ExportedCall::Operand ExportedCall::make_operand(const c10::Argument& wanted,
                                                 const ExportedArgument& given,
                                                 c10::Device device) const try {
  Operand operand{wanted.type(), given.is_list, {}};
  const c10::TypePtr element = list_element(*wanted.type());
  const bool is_none = !given.is_list && given.items[0].kind == Kind::kNone;
  const bool is_value = !given.is_list && given.items[0].kind == Kind::kValue;
  if (given.is_list && !element)
    throw std::invalid_argument("expected no list");
  for (const ExportedItem& item : given.items)
    if (item.kind == Kind::kValue)
      operand.items.push_back({{}, item.value});
    else
      operand.items.push_back({constant_of(item, device), {}});
  if (element && !given.is_list && !is_none && !is_value) {
    // A number that stands for a list of it: as wide as a kernel, say.
    operand.is_list = true;
    operand.items.resize(static_cast<size_t>(wanted.N().value_or(1)),
                         operand.items[0]);
  }
  for (auto& item : operand.items)
    if (!item.value && !is_none)
      item.constant =
          as_type(item.constant, operand.is_list ? *element : *wanted.type());
  if (is_none && wanted.type()->kind() != c10::TypeKind::OptionalType)
    throw std::invalid_argument("expected a value");
  return operand;
} catch (const std::invalid_argument& error) {
  refuse("has an argument " + wanted.name() +
         " that it does not take: " + error.what());
}

c10::IValue ExportedCall::value_of(const Operand& operand,
                                   const std::vector<c10::IValue>& values) {
  const auto read = [&](const Operand::Item& item, const c10::Type& type) {
    return as_type(item.value ? values[*item.value] : item.constant, type);
  };
  if (!operand.is_list) {
    const Operand::Item& item = operand.items[0];
    return item.value ? read(item, *operand.type) : item.constant;  // checked
  }
  const c10::TypePtr element = list_element(*operand.type);
  c10::impl::GenericList list(element);
  for (const Operand::Item& item : operand.items)
    list.push_back(read(item, *element));
  return list;
}

void ExportedCall::run(std::vector<c10::IValue>& values) const {
  torch::jit::Stack stack;
  for (const Operand& operand : operands_)
    stack.push_back(value_of(operand, values));
  callee_.call(stack);
  for (size_t i = 0; i < results_.size(); ++i) {
    const auto& numbers = results_[i].values;
    if (!results_[i].is_list) {
      if (!numbers.empty()) values[numbers[0]] = std::move(stack[i]);
      continue;
    }
    if (!stack[i].isTensorList() ||
        stack[i].toTensorVector().size() != numbers.size())
      throw std::runtime_error(callee_.name +
                               " gives another number of "
                               "tensors than when it was exported");
    const auto tensors = stack[i].toTensorVector();
    for (size_t j = 0; j < numbers.size(); ++j)
      values[numbers[j]] = tensors[j];
  }
}

}  // namespace sotta
