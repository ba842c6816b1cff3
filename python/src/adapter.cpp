#include <atomic>
#include <filesystem>
#include <optional>

#include <ATen/ops/tensor.h>
#include <pybind11/stl/filesystem.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/models/weights.h"

#include "bindings.h"
#include "data/tensor.h"
#include "models/network_file.h"

namespace sotta::python {
namespace {

// Who is inside an adapter now: any number of calls that only look, or one that
// changes it. A second thread gets an error at once: to wait for its turn would
// make the order of a stream a matter of chance.
class Occupancy {
 public:
  class Entry {
   public:
    Entry(Occupancy& occupancy, bool changes)
        : count_(occupancy.count_), changes_(changes) {
      int before = count_.load();
      const auto free = [&] { return changes ? before == 0 : before >= 0; };
      while (free() &&
             !count_.compare_exchange_weak(before, changes ? -1 : before + 1)) {
      }
      if (!free())
        fail(ErrorKind::kInvalid, "adapter",
             "another thread is using it, expected a lock around its calls or "
             "an adapter for each thread");
    }
    ~Entry() { changes_ ? count_.store(0) : void(--count_); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    std::atomic<int>& count_;
    bool changes_;
  };

 private:
  std::atomic<int> count_{0};  // -1: one that changes it
};

class PythonAdapter {
  template <class Work>
  auto changing(const Work& work) {
    const LibraryCall call;
    const Occupancy::Entry entry(occupancy_, /*changes=*/true);
    return work(*adapter_);
  }

  template <class Work>
  auto looking(const Work& work) {
    const LibraryCall call;
    const Occupancy::Entry entry(occupancy_, /*changes=*/false);
    return work(static_cast<const Adapter&>(*adapter_));
  }

 public:
  PythonAdapter(Network network, const std::string& method,
                const std::string& preset, const py::dict& options,
                int64_t window, int64_t seed,
                const std::optional<at::Tensor>& source_images)
      : network_(std::move(network)) {
    OptionMap changes = to_option_map(options, method);
    const LibraryCall call;
    MethodContext context;
    context.model = network_.model;
    context.rng = Rng(static_cast<uint64_t>(seed));
    context.update_interval = window;
    if (source_images) context.source_images = plain(*source_images);
    const Preset parsed = parse_preset(preset);
    GuardOptions guard;
    auto known = method_options(method, parsed, network_.model->classes());
    for (auto& field : option_fields(guard))
      known.push_back(field);
    check_known_names(method, changes, known);
    take_options(guard, changes, "guard");
    adapter_ = make_adapter(method, context, parsed, changes, guard);
  }

  ~PythonAdapter() {
    const py::gil_scoped_release released;
    adapter_.reset();
  }

  StepResult step(const at::Tensor& images) {
    return changing(
        [&](Adapter& adapter) { return adapter.step(plain(images)); });
  }

  at::Tensor predict(const at::Tensor& images) {
    return looking([&](const Adapter& adapter) {
      return adapter.predict_logits(plain(images)).detach();
    });
  }

  Snapshot snapshot() {
    return looking([](const Adapter& adapter) { return adapter.snapshot(); });
  }

  void restore(const Snapshot& snapshot) {
    changing([&](Adapter& adapter) { adapter.restore(snapshot); });
  }

  void reset() {
    changing([](Adapter& adapter) { adapter.reset(); });
  }

  std::map<std::string, at::Tensor> norm_tensors() {
    return looking([](const Adapter& adapter) {
      return named_norm_tensors(adapter.state().clone_norm(),
                                adapter.model().norm_layers());
    });
  }

  void export_weights(const std::string& file) {
    looking([&](const Adapter& adapter) {
      write_safetensors(
          file, sotta::export_weights(adapter.model(), adapter.state()));
    });
  }

  at::Tensor memory_images() {
    return looking(
        [](const Adapter& adapter) { return adapter.memory_images(); });
  }

  std::vector<int64_t> memory_samples() {
    return looking(
        [](const Adapter& adapter) { return adapter.memory_samples(); });
  }

  // Counters are read without a lock that others could hold for long.
  const Adapter& adapter() const { return *adapter_; }
  const Network& network() const { return network_; }

 private:
  Network network_;
  std::unique_ptr<Adapter> adapter_;
  Occupancy occupancy_;
};

std::vector<std::string> verdict_texts(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> texts;
  for (const Verdict verdict : verdicts)
    texts.emplace_back(to_text(verdict));
  return texts;
}

constexpr const char* kModelKey = "sotta.model";

void write_archive(const std::string& file,
                   const std::map<std::string, at::Tensor>& tensors,
                   const std::string& text) {
  const LibraryCall call;
  TensorFile content;
  content.metadata[kModelKey] = text;
  for (const auto& [name, tensor] : tensors)
    content.tensors[name] = to_array(tensor);
  write_safetensors(file, content);
}

// Tensors and text; nothing if the file is another one.
using Archive = std::pair<std::map<std::string, at::Tensor>, std::string>;
std::optional<Archive> read_archive(const std::string& file) {
  const LibraryCall call;
  if (brings_network(file)) return std::nullopt;
  const TensorFile content = read_safetensors(file);
  const auto text = content.metadata.find(kModelKey);
  if (text == content.metadata.end()) return std::nullopt;
  Archive archive{{}, text->second};
  for (const auto& [name, array] : content.tensors)
    archive.first[name] = to_tensor(array).clone();
  return archive;
}

void bind_results(py::module_& core) {
  py::class_<UpdateReport>(core, "Update", "What one update did.")
      .def_readonly("applied", &UpdateReport::applied)
      .def_readonly("skipped", &UpdateReport::skipped,
                    "Why it was not applied, if it was not.")
      .def_readonly("loss", &UpdateReport::loss, "Before the step.")
      .def_readonly("perturbed_loss", &UpdateReport::perturbed_loss,
                    "At the sharpest point nearby.")
      .def_readonly("gradient_norm", &UpdateReport::gradient_norm)
      .def_readonly("parameter_change", &UpdateReport::parameter_change,
                    "Norm of the change of the norm parameters.")
      .def_readonly("guard", &UpdateReport::guard,
                    "What a guard found and did; empty if none tripped.")
      .def_readonly("source_answers", &UpdateReport::source_answers,
                    "From here on a floor has the source model answer.");
  py::class_<ScreenGate>(core, "ScreenGate",
                         "What a screen for foreign images knows.")
      .def_readonly("closed", &ScreenGate::closed,
                    "Whether it keeps one kind of images out.")
      .def_readonly("gap", &ScreenGate::gap,
                    "Between the two kinds of the last images, in deviations.")
      .def_readonly("information", &ScreenGate::information,
                    "What the shipped network learns from the kind it knows "
                    "less, over the other; nan where it was not asked.")
      .def_readonly("drift", &ScreenGate::drift,
                    "Likewise how far its statistics are from the shipped "
                    "ones.");
  py::class_<StepResult>(core, "Step", "What one call of a model gave.")
      .def_readonly("logits", &StepResult::logits)
      .def_property_readonly(
          "labels", [](const StepResult& s) { return s.prediction.labels; },
          "int64 [N]: the likeliest classes.")
      .def_property_readonly(
          "confidences",
          [](const StepResult& s) { return s.prediction.confidences; },
          "float [N]: their softmax probabilities.")
      .def_property_readonly(
          "entropies",
          [](const StepResult& s) { return s.prediction.entropies; },
          "float [N]")
      .def_property_readonly(
          "verdicts",
          [](const StepResult& s) { return verdict_texts(s.verdicts); },
          "What the method made of each sample: \"admitted\", ...")
      .def_property_readonly(
          "foreign_scores",
          [](const StepResult& s) -> std::optional<at::Tensor> {
            if (!s.screening.defined()) return std::nullopt;
            return at::tensor(s.screening.scores);
          },
          "float [N]: above 0 where the method's screen finds a sample "
          "foreign; "
          "None without a screen.")
      .def_property_readonly(
          "screen",
          [](const StepResult& s) -> std::optional<ScreenGate> {
            if (!s.screening.defined()) return std::nullopt;
            return s.screening.gate;
          },
          "The gate of the method's screen after the call; None without a "
          "screen.")
      .def_readonly("updates", &StepResult::updates,
                    "One per window that the call filled.")
      .def_readonly("update_seconds", &StepResult::update_seconds)
      .def_readonly("guard", &StepResult::guard,
                    "What guards found and did; empty if none tripped.")
      .def_readonly("by_source", &StepResult::by_source,
                    "How many predictions are the source model's: a floor.")
      .def("__len__", [](const StepResult& s) { return s.verdicts.size(); });
}

std::map<std::string, at::Tensor> copied_tensors(const Snapshot& snapshot) {
  const LibraryCall call;
  std::map<std::string, at::Tensor> copies;
  for (const auto& [name, tensor] : snapshot.tensors)
    copies[name] = plain(tensor).clone();
  return copies;
}

void bind_snapshot(py::module_& core) {
  py::class_<Snapshot>(core, "Snapshot",
                       "Everything an adapter has become since it was made.")
      .def(py::init([](std::string method,
                       const std::map<std::string, at::Tensor>& tensors) {
             for (const auto& [name, tensor] : tensors)
               require(tensor.layout() == at::kStrided && !tensor.is_meta(),
                       "snapshot",
                       name + ": expected a dense tensor that holds numbers");
             const Snapshot given{std::move(method), tensors};
             return Snapshot{given.method, copied_tensors(given)};
           }),
           py::arg("method"), py::arg("tensors"))
      .def_readonly("method", &Snapshot::method, "Whose it is.")
      .def_property_readonly("tensors", &copied_tensors, "By name; a copy.")
      .def(
          "save",
          [](const Snapshot& snapshot, const std::filesystem::path& file) {
            const py::gil_scoped_release released;
            write_snapshot(file, snapshot);
          },
          py::arg("path"),
          "Writes what `sotta adapt --state-in` reads, in one step.")
      .def_static(
          "load",
          [](const std::filesystem::path& file) {
            const py::gil_scoped_release released;
            return read_snapshot(file);
          },
          py::arg("path"))
      .def(
          "to_bytes",
          [](const Snapshot& snapshot) {
            return py::bytes(snapshot_bytes(snapshot));
          },
          "The bytes of such a file.")
      .def_static(
          "from_bytes",
          [](const py::bytes& bytes) {
            return parse_snapshot(std::string_view(bytes), "snapshot");
          },
          py::arg("data"))
      .def(py::pickle(
          [](const Snapshot& snapshot) {
            return py::bytes(snapshot_bytes(snapshot));
          },
          [](const py::bytes& bytes) {
            return parse_snapshot(std::string_view(bytes), "snapshot");
          }));
  core.def("write_archive", &write_archive, py::arg("file"), py::arg("tensors"),
           py::arg("text"));
  core.def("read_archive", &read_archive, py::arg("file"));
}

std::vector<std::string> verdict_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kVerdicts; ++i)
    names.emplace_back(to_text(static_cast<Verdict>(i)));
  return names;
}

}  // namespace

void bind_adapter(py::module_& core) {
  bind_results(core);
  bind_snapshot(core);
  const auto count = [](auto get) {
    return [get](const PythonAdapter& self) { return (self.adapter().*get)(); };
  };
  py::class_<PythonAdapter>(core, "Adapter",
                            "A network that adapts to a stream of images.")
      .def(py::init<Network, const std::string&, const std::string&,
                    const py::dict&, int64_t, int64_t,
                    const std::optional<at::Tensor>&>(),
           py::arg("network"), py::arg("method"), py::arg("preset"),
           py::arg("options"), py::arg("window"), py::arg("seed"),
           py::arg("source_images"))
      .def("step", &PythonAdapter::step, py::arg("images"))
      .def("predict", &PythonAdapter::predict, py::arg("images"))
      .def("snapshot", &PythonAdapter::snapshot)
      .def("restore", &PythonAdapter::restore, py::arg("snapshot"))
      .def("reset", &PythonAdapter::reset)
      .def("norm_tensors", &PythonAdapter::norm_tensors,
           "Copies of the norm layers' tensors by their names.")
      .def("export_weights", &PythonAdapter::export_weights, py::arg("file"))
      .def("memory_images", &PythonAdapter::memory_images)
      .def("memory_samples", &PythonAdapter::memory_samples)
      .def_property_readonly("network", &PythonAdapter::network)
      .def_property_readonly("samples", count(&Adapter::samples))
      .def_property_readonly("updates", count(&Adapter::updates))
      .def_property_readonly("pending", count(&Adapter::pending));
  core.def("methods", &method_names);
  core.def(
      "method_label",
      [](const std::string& name) {
        const MethodEntry& entry = find_method(name);
        return entry.label.empty() ? entry.name : entry.label;
      },
      py::arg("method"));
  core.def(
      "method_options",
      [](const std::string& method, const std::string& preset,
         int64_t classes) {
        return to_python(method_options(method, parse_preset(preset), classes));
      },
      py::arg("method"), py::arg("preset"), py::arg("classes"),
      "(name, default, help) of every option.");
  core.def("guard_options",
           [] { return to_python(option_fields(GuardOptions())); });
  core.def("verdicts", &verdict_names, "All there are, as texts.");
}

}  // namespace sotta::python
