#include "sotta/core/error.h"

#include "bindings.h"

namespace sotta::python {
namespace {

// Numbers of other libraries (NumPy, PyTorch) are numbers too: item() says of
// which kind.
py::object plain_number(py::handle value) {
  const auto object = py::reinterpret_borrow<py::object>(value);
  const bool is_scalar = py::hasattr(value, "item") &&
                         py::hasattr(value, "ndim") &&
                         py::int_(0).equal(value.attr("ndim"));
  return is_scalar ? value.attr("item")() : object;
}

OptionValue to_option(const std::string& name, py::handle given,
                      const std::string& subject) {
  const py::object value = plain_number(given);
  if (PyBool_Check(value.ptr())) return value.cast<bool>();
  if (PyUnicode_Check(value.ptr())) return value.cast<std::string>();
  if (PyFloat_Check(value.ptr())) return value.cast<double>();
  if (PyLong_Check(value.ptr())) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    require(overflow == 0, subject,
            name + ": expected a number that fits 64 bits");
    return number;
  }
  fail(ErrorKind::kInvalid, subject,
       name + ": expected a bool, a number or text, got " + type_of(given));
}

}  // namespace

std::string type_of(py::handle value) {
  return py::type::of(value).attr("__name__").cast<std::string>();
}

OptionMap to_option_map(const py::dict& values, const std::string& subject) {
  OptionMap map;
  for (const auto& [name, value] : values) {
    const auto text = name.cast<std::string>();
    map[text] = to_option(text, value, subject);
  }
  return map;
}

py::object to_python(const OptionValue& value) {
  return std::visit(
      [](const auto& held) -> py::object { return py::cast(held); }, value);
}

py::list to_python(const std::vector<OptionField>& fields) {
  py::list list;
  for (const auto& field : fields)
    list.append(py::make_tuple(field.name, to_python(field.value), field.help));
  return list;
}

}  // namespace sotta::python
