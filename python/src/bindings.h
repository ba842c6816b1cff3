#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "sotta/core/options.h"
#include "sotta/models/classifier.h"

// The Python module sotta._core: one file per area, each with a function that
// adds its classes and functions. What is Python's own (dispatch on types of
// images, pictures, names of arguments) lies in python/sotta/.
namespace sotta::python {

namespace py = pybind11;

void bind_errors(py::module_& core);
void bind_network(py::module_& core);
void bind_adapter(py::module_& core);
void bind_corruption(py::module_& core);
void bind_stream(py::module_& core);
void bind_bench(py::module_& core);
void bind_method(py::module_& core);

// A classifier that Python and adapters share.
struct Network {
  std::shared_ptr<const Classifier> model;
};

// For messages: "int".
std::string type_of(py::handle value);

// Python's bool, int, float and str by name. Throws Error(kInvalid) naming
// `subject` for a value of another type.
OptionMap to_option_map(const py::dict& values, const std::string& subject);
py::object to_python(const OptionValue& value);

// Sets the fields that a struct has and takes them out of `values`.
template <class Options>
void take_options(Options& options, OptionMap& values,
                  const std::string& subject) {
  OptionMap own;
  for (const auto& field : option_fields(options)) {
    const auto found = values.find(field.name);
    if (found == values.end()) continue;
    own.insert(values.extract(found));
  }
  assign_options(options, own, subject);
}

// (name, value, help) of every field.
py::list to_python(const std::vector<OptionField>& fields);

// Runs library code as it is run elsewhere: without the interpreter's lock, and
// whatever the caller has switched on or off in LibTorch (gradients, inference
// mode, automatic mixed precision).
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

 private:
  struct Settings;
  py::gil_scoped_release released_;
  std::unique_ptr<Settings> settings_;
};

// Images as the library takes them: no part of a graph, no inference tensor.
at::Tensor plain(const at::Tensor& images);

}  // namespace sotta::python
