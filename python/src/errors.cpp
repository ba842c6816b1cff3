#include "sotta/core/error.h"

#include "bindings.h"

namespace sotta::python {
namespace {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kBadFormat:
      return "bad_format";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kIo:
      return "io";
  }
  return "";
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const py::object type = py::module_::import("sotta._error").attr("Error");
      const py::object raised = type(error.what(), name_of(error.kind()));
      PyErr_SetObject(type.ptr(), raised.ptr());
    }
  });
}

}  // namespace sotta::python
