#include <functional>
#include <optional>

#include <ATen/core/grad_mode.h>

#include "sotta/core/error.h"
#include "sotta/engine/engine.h"
#include "sotta/engine/open_model.h"
#include "sotta/models/weights.h"

#include "bindings.h"
#include "data/tensor.h"
#include "eval/model_check.h"
#include "models/exported/exported.h"
#include "models/network_file.h"
#include "models/torchscript.h"

namespace sotta::python {
namespace {

using Numbers = std::vector<double>;

struct NetworkArguments {
  std::optional<Numbers> mean, std;
  std::string device, precision;
  py::dict engine;
};

ModelOptions options_of(const NetworkArguments& arguments) {
  ModelOptions options;
  if (arguments.mean.has_value() != arguments.std.has_value())
    fail(ErrorKind::kInvalid, "mean and std", "expected both or neither");
  if (arguments.mean)
    options.normalisation = Normalisation{*arguments.mean, *arguments.std};
  options.device = parse_device(arguments.device);
  options.precision = parse_precision(arguments.precision);
  assign_options(options.engine, to_option_map(arguments.engine, "engine"),
                 "engine");
  return options;
}

Network open_file(const std::string& file, const NetworkArguments& arguments) {
  const ModelOptions options = options_of(arguments);
  const LibraryCall call;
  return {open_model(file, options)};
}

// Of the bytes of a file that brings its own network.
template <auto parse>
Network from_graph(const py::bytes& bytes, const std::string& subject,
                   const NetworkArguments& arguments) {
  const ModelOptions options = options_of(arguments);
  const std::string_view view = bytes;
  const LibraryCall call;
  return {choose_engine(parse(view, options, subject), options.engine)};
}

Network from_tensors(const std::map<std::string, at::Tensor>& tensors,
                     const std::string& subject,
                     const NetworkArguments& arguments) {
  const ModelOptions options = options_of(arguments);
  const LibraryCall call;
  TensorFile file;
  for (const auto& [name, tensor] : tensors)
    file.tensors[name] = to_array(tensor);
  return {
      choose_engine(make_classifier(file, options, subject), options.engine)};
}

Network from_safetensors(const py::bytes& bytes, const std::string& subject,
                         const NetworkArguments& arguments) {
  const ModelOptions options = options_of(arguments);
  const std::string_view view = bytes;
  const LibraryCall call;
  const TensorFile file = parse_safetensors(
      reinterpret_cast<const std::byte*>(view.data()), view.size(), subject);
  return {
      choose_engine(make_classifier(file, options, subject), options.engine)};
}

py::bytes weights(const Network& network) {
  const Classifier& model = *network.model;
  std::string bytes;
  {
    const LibraryCall call;
    bytes = safetensors_bytes(export_weights(model, model.source()), "network");
  }
  return bytes;
}

at::Tensor source_logits(const Network& network, const at::Tensor& images) {
  const Classifier& model = *network.model;
  const LibraryCall call;
  const at::NoGradGuard no_gradients;
  return model.forward(plain(images), model.source(), NormStats::running())
      .logits;
}

py::list norm_layers(const Network& network) {
  py::list layers;
  for (const NormLayer& layer : network.model->norm_layers())
    layers.append(
        py::make_tuple(layer.name, norm_kind_name(layer.kind), layer.channels));
  return layers;
}

void bind_state(py::module_& core) {
  py::class_<ModelState>(core, "ModelState",
                         "Every number of a network, as four flat tensors.")
      .def(py::init([](at::Tensor body, at::Tensor affine,
                       at::Tensor running_mean, at::Tensor running_var) {
             return ModelState{std::move(body), std::move(affine),
                               std::move(running_mean), std::move(running_var)};
           }),
           py::arg("body"), py::arg("affine"), py::arg("running_mean"),
           py::arg("running_var"))
      .def_readwrite("body", &ModelState::body,
                     "convolution and classifier weights")
      .def_readwrite("affine", &ModelState::affine,
                     "per norm layer: its scales, then its shifts")
      .def_readwrite("running_mean", &ModelState::running_mean,
                     "per batch norm layer: its channels")
      .def_readwrite("running_var", &ModelState::running_var,
                     "likewise; variances are unbiased estimates")
      .def("clone_norm", &ModelState::clone_norm,
           "A copy of what adaptation changes; the body stays shared.")
      .def("clone", &ModelState::clone, "A copy of everything.");
}

}  // namespace

void bind_network(py::module_& core) {
  bind_state(core);
  py::class_<NetworkArguments>(core, "NetworkArguments",
                               "How a network is read and what runs it.")
      .def(py::init([](std::optional<Numbers> mean, std::optional<Numbers> std,
                       std::string device, std::string precision,
                       py::dict engine) {
             return NetworkArguments{std::move(mean), std::move(std),
                                     std::move(device), std::move(precision),
                                     std::move(engine)};
           }),
           py::kw_only(), py::arg("mean"), py::arg("std"), py::arg("device"),
           py::arg("precision"), py::arg("engine"));
  const auto property = [](auto get) {
    return [get](const Network& network) { return get(*network.model); };
  };
  py::class_<Network>(core, "Network", "An image classifier with norm layers.")
      .def_property_readonly("classes",
                             property(std::mem_fn(&Classifier::classes)))
      .def_property_readonly("channels",
                             property(std::mem_fn(&Classifier::channels)))
      .def_property_readonly("engine",
                             property(std::mem_fn(&Classifier::engine)))
      .def_property_readonly("source",
                             property(std::mem_fn(&Classifier::source)),
                             "The state as it was loaded; do not change it.")
      .def_property_readonly("mean", property([](const Classifier& model) {
                               return model.normalisation().mean;
                             }))
      .def_property_readonly("std", property([](const Classifier& model) {
                               return model.normalisation().std;
                             }))
      .def_property_readonly("device", property([](const Classifier& model) {
                               return model.source().affine.device().str();
                             }))
      .def_property_readonly("norm_layers", &norm_layers,
                             "(name, kind, channels) of each.")
      .def("weights", &weights,
           "The source weights as bytes of a safetensors file.")
      .def("logits", &source_logits, py::arg("images"),
           "Of the source model, with running statistics.");
  core.def("open_network", &open_file, py::arg("file"), py::arg("arguments"));
  core.def("network_from_torchscript", &from_graph<parse_torchscript>,
           py::arg("data"), py::arg("subject"), py::arg("arguments"));
  core.def("network_from_exported", &from_graph<parse_exported>,
           py::arg("data"), py::arg("subject"), py::arg("arguments"));
  core.def("network_from_tensors", &from_tensors, py::arg("tensors"),
           py::arg("subject"), py::arg("arguments"));
  core.def("network_from_safetensors", &from_safetensors, py::arg("data"),
           py::arg("subject"), py::arg("arguments"));
  core.def(
      "network_format",
      [](const std::string& file) { return name_of(network_format(file)); },
      py::arg("file"), "\"safetensors\", \"torchscript\" or \"exported\".");
  core.def("engines", &available_engines,
           "What can run a network in this build and on this machine.");
}

}  // namespace sotta::python
