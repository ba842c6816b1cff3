#include "sotta/stream/stream.h"

#include <optional>

#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/stream/scenario.h"

#include "bindings.h"

namespace sotta::python {
namespace {

StreamOptions options_of(const py::dict& values) {
  StreamOptions options;
  assign_options(options, to_option_map(values, "stream"), "stream");
  return options;
}

// A plan and its stream, which goes from the first image to the last.
class PythonStream {
 public:
  PythonStream(const StreamSources& sources, const StreamOptions& options)
      : plan_(std::make_shared<const StreamPlan>(options, sources)),
        stream_(plan_, sources) {}

  const StreamPlan& plan() const { return *plan_; }
  int64_t position() const { return stream_.position(); }
  ImageShape shape() const { return stream_.shape(); }

  at::Tensor next(int64_t count) {
    const LibraryCall call;
    return stream_.next(count);
  }

  void seek(int64_t position) {
    const LibraryCall call;
    stream_.seek(position);
  }

 private:
  std::shared_ptr<const StreamPlan> plan_;
  Stream stream_;
};

std::unique_ptr<PythonStream> open_stream(const std::string& dataset,
                                          const std::string& root,
                                          const py::dict& values) {
  const StreamOptions options = options_of(values);
  const LibraryCall call;
  return std::make_unique<PythonStream>(open_sources(dataset, root, options),
                                        options);
}

std::unique_ptr<PythonStream> stream_of(
    const at::Tensor& images, const at::Tensor& labels, int64_t classes,
    const std::optional<at::Tensor>& foreign, const py::dict& values) {
  const StreamOptions options = options_of(values);
  const LibraryCall call;
  const auto target = std::make_shared<TensorDataset>(
      LabelledImages{plain(images), plain(labels)}, classes, "images");
  std::shared_ptr<const Dataset> other;
  if (foreign)
    other = std::make_shared<TensorDataset>(
        LabelledImages{plain(*foreign),
                       at::zeros({foreign->size(0)}, at::kLong)},
        1, "foreign");
  return std::make_unique<PythonStream>(
      make_sources("images", target, other, options), options);
}

}  // namespace

void bind_stream(py::module_& core) {
  py::class_<PythonStream>(core, "Stream",
                           "Target and foreign images in a seeded order.")
      .def("next", &PythonStream::next, py::arg("count"))
      .def("seek", &PythonStream::seek, py::arg("position"))
      .def(
          "truth",
          [](const PythonStream& self, int64_t begin, int64_t end) {
            const WindowTruth truth = self.plan().truth(begin, end);
            return py::make_tuple(truth.labels, truth.benign, truth.attacker);
          },
          py::arg("begin"), py::arg("end"), "(labels, benign, attacker)")
      .def_property_readonly("position", &PythonStream::position)
      .def_property_readonly(
          "size", [](const PythonStream& self) { return self.plan().size(); })
      .def_property_readonly(
          "domains",
          [](const PythonStream& self) { return self.plan().domains(); })
      .def_property_readonly("shape", [](const PythonStream& self) {
        const ImageShape shape = self.shape();
        return py::make_tuple(shape.channels, shape.height, shape.width);
      });
  core.def("open_stream", &open_stream, py::arg("dataset"), py::arg("root"),
           py::arg("options"));
  core.def("stream_of", &stream_of, py::arg("images"), py::arg("labels"),
           py::arg("classes"), py::arg("foreign"), py::arg("options"));
  core.def("stream_options",
           [] { return to_python(option_fields(StreamOptions())); });
  core.def("scenarios", &scenario_names);
}

}  // namespace sotta::python
