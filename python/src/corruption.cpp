#include "sotta/corrupt/corruption.h"

#include "bindings.h"

namespace sotta::python {
namespace {

at::Tensor corrupt(const at::Tensor& images, const py::dict& options,
                   const std::vector<int64_t>& indices) {
  CorruptionOptions chosen;
  assign_options(chosen, to_option_map(options, "corrupt"), "corrupt");
  const LibraryCall call;
  return Corruption(chosen, images.size(2)).apply(plain(images), indices);
}

}  // namespace

void bind_corruption(py::module_& core) {
  core.def("corrupt", &corrupt, py::arg("images"), py::arg("options"),
           py::arg("indices"));
  core.def("corruptions", &corruption_names,
           "The fifteen of the paper, then the others.");
}

}  // namespace sotta::python
