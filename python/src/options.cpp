#include "sotta/core/error.h"

#include "bindings.h"

namespace sotta::python {
namespace {

OptionValue to_option(const std::string& name, py::handle value,
                      const std::string& subject) {
  if (PyBool_Check(value.ptr())) return value.cast<bool>();
  if (PyUnicode_Check(value.ptr())) return value.cast<std::string>();
  // Numbers of other libraries (NumPy) are numbers too.
  if (PyIndex_Check(value.ptr())) return value.cast<int64_t>();
  if (PyFloat_Check(value.ptr()) || py::hasattr(value, "__float__"))
    return value.cast<double>();
  fail(ErrorKind::kInvalid, subject,
       name + ": expected a bool, a number or text, got " +
           py::str(py::type::of(value)).cast<std::string>());
}

}  // namespace

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
