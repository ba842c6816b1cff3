#include "sotta/adapt/method.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/python_variable.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"

#include "adapt/memory/images.h"
#include "bindings.h"
#include "core/checks.h"

namespace sotta::python {
namespace {

constexpr const char* kModule = "sotta._method";

NormStats parse_stats(const py::object& stats) {
  const OptionValue value =
      to_option_map(py::dict(py::arg("stats") = stats), "forward")["stats"];
  const auto* whole = std::get_if<int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (whole || real) {
    const double share = whole ? static_cast<double>(*whole) : *real;
    require_within("stats", share, 0, 1);
    return NormStats::blended(share);
  }
  require(std::holds_alternative<std::string>(value), "stats",
          "expected \"running\", \"batch\" or a number, got " + to_text(value));
  const auto& name = std::get<std::string>(value);
  require_one_of("stats", name, {"running", "batch"});
  return name == "batch" ? NormStats::batch() : NormStats::running();
}

Verdict parse_verdict(const std::string& text) {
  std::vector<std::string> known;
  for (int i = 0; i < kVerdicts; ++i) {
    if (text == to_text(static_cast<Verdict>(i)))
      return static_cast<Verdict>(i);
    known.emplace_back(to_text(static_cast<Verdict>(i)));
  }
  fail_unknown_name("verdict", text, known);
}

std::vector<Verdict> parse_verdicts(const py::object& texts, int64_t count) {
  std::vector<Verdict> verdicts;
  for (const auto& text : texts) {
    require(PyUnicode_Check(text.ptr()), "verdicts",
            "expected texts, got " + type_of(text));
    verdicts.push_back(parse_verdict(text.cast<std::string>()));
  }
  require(static_cast<int64_t>(verdicts.size()) == count, "verdicts",
          "expected " + std::to_string(count) + ", one per image, got " +
              std::to_string(verdicts.size()));
  return verdicts;
}

void check_vector(const char* name, const at::Tensor& vector,
                  const at::Tensor& like) {
  if (!like.defined()) return;
  const auto form = [](const at::Tensor& tensor) {
    return c10::str(c10::toString(tensor.scalar_type()), " ", tensor.sizes(),
                    " on ", tensor.device());
  };
  require(vector.sizes() == like.sizes() &&
              vector.scalar_type() == like.scalar_type() &&
              vector.device() == like.device() &&
              vector.layout() == like.layout(),
          "state",
          std::string("expected ") + name + " as " + form(like) + ", got " +
              form(vector));
}

// What a Python method is given: the network as a function, and how the stream
// is cut. Passes run without the interpreter's lock, as streams that share a
// pass wait for each other.
class Context {
 public:
  explicit Context(const MethodContext& context)
      : context_(context), executor_(executor_of(context)) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        const py::object& stats) const {
    const NormStats parsed = parse_stats(stats);
    const ModelState& source = model().source();
    check_vector("body", state.body, source.body);
    check_vector("affine", state.affine, source.affine);
    check_vector("running_mean", state.running_mean, source.running_mean);
    check_vector("running_var", state.running_var, source.running_var);
    const bool gradients = at::GradMode::is_enabled();
    const LibraryCall call;
    const at::AutoGradMode as_before(gradients);
    return executor_->forward(images, state, parsed);
  }

  std::vector<at::Tensor> gradients(
      const at::Tensor& loss, const std::vector<at::Tensor>& leaves) const {
    const LibraryCall call;
    return executor_->gradients(loss, leaves);
  }

  const MethodContext& context() const { return context_; }
  const Classifier& model() const { return *context_.model; }

 private:
  MethodContext context_;
  std::shared_ptr<const Executor> executor_;
};

// Calls a Python object's predict(), observe() and update().
class PythonMethod : public Method {
 public:
  PythonMethod(const MethodContext& context, py::object self)
      : device_(context.model->source().affine.device()),
        classes_(context.model->classes()),
        source_body_(context.model->source().body),
        self_(std::move(self)) {
    stats_ = parse_stats(self_.attr("prediction_stats"));
  }

  ~PythonMethod() override {
    const py::gil_scoped_acquire acquired;
    self_ = py::object();
  }

  at::Tensor predict(const at::Tensor& images) const override {
    const py::gil_scoped_acquire acquired;
    return logits_of(self_.attr("predict")(images), images);
  }

  Observation observe(const at::Tensor& images, bool) override {
    const py::gil_scoped_acquire acquired;
    const py::object answer = self_.attr("observe")(images);
    Observation seen;
    if (py::isinstance<py::tuple>(answer)) {
      const auto pair = answer.cast<py::tuple>();
      require(pair.size() == 2, "observe()",
              "expected logits, or logits and verdicts");
      const at::Tensor logits = logits_of(pair[0], images);
      seen = observed(logits, classify(logits), Verdict::kPending);
      seen.verdicts = parse_verdicts(pair[1], images.size(0));
    } else {
      const at::Tensor logits = logits_of(answer, images);
      seen = observed(logits, classify(logits), Verdict::kPending);
    }
    for (size_t i = 0; i < seen.verdicts.size(); ++i)
      if (!is_finite(seen.prediction, static_cast<int64_t>(i)))
        seen.verdicts[i] = Verdict::kNotFinite;
    window_ = join_images(window_, images);
    verdicts_.insert(verdicts_.end(), seen.verdicts.begin(),
                     seen.verdicts.end());
    return seen;
  }

  // Samples that nobody judged before were learnt from.
  UpdateReport update() override {
    const py::gil_scoped_acquire acquired;
    const at::Tensor window = std::exchange(window_, at::Tensor());
    UpdateReport report;
    report.verdicts = std::exchange(verdicts_, {});
    const py::object answer = self_.attr("update")(window);
    report.applied = !py::isinstance<py::str>(answer);
    if (!report.applied) report.skipped = answer.cast<std::string>();
    if (THPVariable_Check(answer.ptr())) {
      report.loss = answer.cast<at::Tensor>().detach();
      require(report.loss.numel() == 1, "update()",
              "expected a loss of one number, got a tensor " +
                  c10::str(report.loss.sizes()));
      report.loss = report.loss.reshape({});
    }
    for (Verdict& verdict : report.verdicts)
      if (verdict == Verdict::kPending)
        verdict = report.applied ? Verdict::kAdmitted : Verdict::kNotScreened;
    return report;
  }

  void drop_window(int64_t) override {
    window_ = at::Tensor();
    verdicts_.clear();
  }

  void exchange(StateArchive& archive) override {
    const py::gil_scoped_acquire acquired;
    exchanged_.clear();
    const ModelState state = this->state();
    if (!state.body.is_alias_of(source_body_)) add("state.body", state.body);
    add("state.affine", state.affine);
    add("state.running_mean", state.running_mean);
    add("state.running_var", state.running_var);
    for (const auto& [name, tensor] : own_tensors())
      add("own." + name, tensor);
    for (auto& [name, tensor] : exchanged_)
      archive(name, tensor);
    archive.images("window", window_, device_);
    archive("verdicts", verdict_converter());
  }

  ModelState state() const override {
    const py::gil_scoped_acquire acquired;
    const py::object state = self_.attr("state");
    require(py::isinstance<ModelState>(state), "state",
            "expected a sotta.ModelState, got " + type_of(state));
    return state.cast<ModelState>();
  }

  NormStats prediction_stats() const override { return stats_; }

 private:
  at::Tensor logits_of(const py::object& answer,
                       const at::Tensor& images) const {
    require(THPVariable_Check(answer.ptr()), "logits",
            "expected a tensor, got " + type_of(answer));
    const at::Tensor logits = answer.cast<at::Tensor>().detach();
    require(
        logits.dim() == 2 && logits.size(0) == images.size(0) &&
            logits.size(1) == classes_ && logits.scalar_type() == at::kFloat &&
            logits.device() == device_ && logits.layout() == at::kStrided,
        "logits",
        "expected a float row for each image, of " + std::to_string(classes_) +
            " classes, got " + c10::toString(logits.scalar_type()) + " " +
            c10::str(logits.sizes()));
    return logits;
  }

  // What state_dict() gives.
  std::map<std::string, at::Tensor> own_tensors() const {
    const py::object given = self_.attr("state_dict")();
    require(py::isinstance<py::dict>(given), "state_dict()",
            "expected a dict of tensors, got " + type_of(given));
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, tensor] : given.cast<py::dict>()) {
      require(PyUnicode_Check(name.ptr()) && THPVariable_Check(tensor.ptr()),
              "state_dict()",
              "expected tensors by name, got " + type_of(tensor) + " by " +
                  type_of(name));
      const auto text = name.cast<std::string>();
      tensors[text] = tensor.cast<at::Tensor>();
      require(has_own_memory(tensors[text]), "state_dict()",
              text + ": expected a dense tensor with memory of its own");
    }
    return tensors;
  }

  // Not so of what only stands for numbers, or repeats one in several places.
  static bool has_own_memory(const at::Tensor& tensor) {
    if (tensor.layout() != at::kStrided || tensor.is_meta()) return false;
    for (int64_t i = 0; i < tensor.dim(); ++i)
      if (tensor.stride(i) == 0 && tensor.size(i) > 1) return false;
    return true;
  }

  // Loaded in place, so what Python holds changes too.
  void add(const std::string& name, const at::Tensor& tensor) {
    exchanged_[name] = tensor.detach();
  }

  StateArchive::Converter verdict_converter() {
    return {[&] {
              at::Tensor words = at::empty(
                  {static_cast<int64_t>(verdicts_.size())}, at::kLong);
              for (size_t i = 0; i < verdicts_.size(); ++i)
                words.data_ptr<int64_t>()[i] =
                    static_cast<int64_t>(verdicts_[i]);
              return words;
            },
            [](const at::Tensor& words) {
              for (int64_t i = 0; i < words.numel(); ++i)
                if (const auto word = words.data_ptr<int64_t>()[i];
                    word < 0 || word >= kVerdicts)
                  fail(ErrorKind::kBadFormat, "snapshot",
                       "expected verdicts, got a number that is none");
            },
            [&](const at::Tensor& words) {
              verdicts_.clear();
              for (int64_t i = 0; i < words.numel(); ++i)
                verdicts_.push_back(
                    static_cast<Verdict>(words.data_ptr<int64_t>()[i]));
            }};
  }

  at::Device device_;
  int64_t classes_;
  at::Tensor source_body_;
  py::object self_;
  NormStats stats_;
  at::Tensor window_;
  std::vector<Verdict> verdicts_;
  std::map<std::string, at::Tensor> exchanged_;
};

// The class of this name, of now: a notebook's cell may define it anew.
py::object find_class(const std::string& name) {
  return py::module_::import(kModule).attr("find_class")(name);
}

std::vector<OptionField> class_options(const std::string& name) {
  const py::gil_scoped_acquire acquired;
  std::vector<OptionField> fields;
  const py::object defaults = find_class(name).attr("options");
  require(py::isinstance<py::dict>(defaults), name,
          "expected options as a dict, got " + type_of(defaults));
  for (const auto& [option, value] :
       to_option_map(defaults.cast<py::dict>(), name))
    fields.push_back({option, value, ""});
  return fields;
}

std::unique_ptr<Method> make(const std::string& name,
                             const MethodContext& context,
                             const OptionMap& changes) {
  const auto fields = class_options(name);
  check_known_names(name, changes, fields);
  const py::gil_scoped_acquire acquired;
  py::dict options;
  for (const auto& field : fields) {
    const auto found = changes.find(field.name);
    options[py::str(field.name)] = to_python(
        found == changes.end()
            ? field.value
            : convert_option(name, field.name, found->second, field.value));
  }
  const py::object self = py::module_::import(kModule).attr("construct")(
      find_class(name), Context(context), options);
  return std::make_unique<PythonMethod>(context, self);
}

void register_class(const std::string& name, const std::string& label) {
  MethodEntry entry;
  entry.name = name;
  entry.label = label;
  entry.options = [name](Preset, int64_t) { return class_options(name); };
  entry.make = [name](const MethodContext& context, Preset,
                      const OptionMap& changes) {
    return make(name, context, changes);
  };
  register_method(std::move(entry));
}

}  // namespace

void bind_method(py::module_& core) {
  py::class_<ForwardResult>(core, "Forward", "What one forward pass gave.")
      .def_readonly("logits", &ForwardResult::logits)
      .def_readonly("features", &ForwardResult::features)
      .def_readonly("batch_mean", &ForwardResult::batch_mean)
      .def_readonly("batch_var", &ForwardResult::batch_var);
  py::class_<Context>(core, "Context", "What a method is given.")
      .def("forward", &Context::forward, py::arg("images"), py::arg("state"),
           py::arg("stats"))
      .def("gradients", &Context::gradients, py::arg("loss"), py::arg("leaves"))
      .def_property_readonly(
          "source", [](const Context& self) { return self.model().source(); })
      .def_property_readonly(
          "classes", [](const Context& self) { return self.model().classes(); })
      .def_property_readonly(
          "window",
          [](const Context& self) { return self.context().update_interval; })
      .def_property_readonly(
          "seed",
          [](const Context& self) {
            return self.context().rng.child("python").next() >> 1;
          },
          "For generators of the method's own.")
      .def_property_readonly("source_images", [](const Context& self) {
        return self.context().source_images;
      });
  core.def("register_method", &register_class, py::arg("name"),
           py::arg("label"));
}

}  // namespace sotta::python
