#include <torch/version.h>

#include "sotta/core/version.h"

#include "bindings.h"

PYBIND11_MODULE(_core, core) {
  using namespace sotta::python;
  core.doc() = "The compiled part of sotta; use the package sotta.";
  core.attr("__version__") = sotta::version();
  core.attr("torch_version") = TORCH_VERSION;
  bind_errors(core);
  bind_network(core);
  bind_adapter(core);
  bind_corruption(core);
  bind_stream(core);
  bind_bench(core);
  bind_method(core);
}
