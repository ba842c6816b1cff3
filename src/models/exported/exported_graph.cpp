#include "models/exported/exported_graph.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <torch/version.h>

#include "sotta/core/error.h"

#include "models/exported/exported_liveness.h"
#include "models/exported/exported_operator.h"
#include "models/exported/exported_plan.h"

namespace sotta {
namespace {

using Kind = ExportedItem::Kind;

// More would be no number of classes.
constexpr int64_t kMostClasses = 1 << 20;

std::optional<NormKind> norm_kind(const std::string& target) {
  static const std::map<std::string, NormKind> kKinds = {
      {"batch_norm.default", NormKind::kBatch},
      {"native_batch_norm.default", NormKind::kBatch},
      {"_native_batch_norm_legit.default", NormKind::kBatch},
      {"_native_batch_norm_legit_functional.default", NormKind::kBatch},
      {"_native_batch_norm_legit_no_training.default", NormKind::kBatch},
      {"_native_batch_norm_legit.no_stats", NormKind::kInstance},
      {"instance_norm.default", NormKind::kInstance},
      {"layer_norm.default", NormKind::kLayer},
      {"native_layer_norm.default", NormKind::kLayer},
      {"group_norm.default", NormKind::kGroup},
      {"native_group_norm.default", NormKind::kGroup}};
  const std::string prefix = "torch.ops.aten.";
  if (target.compare(0, prefix.size(), prefix) != 0) return std::nullopt;
  const auto found = kKinds.find(target.substr(prefix.size()));
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> of) {
  return std::any_of(of.begin(), of.end(), [&](const char* one) {
    return name == std::string("aten::") + one;
  });
}

// "aten::dropout" of "torch.ops.aten.dropout.default", and of "dropout_", which
// does the same in place.
std::string base_name(const std::string& target) {
  const std::string name = operator_name(target);
  return name.substr(0, name.find_last_not_of('_', name.find('.') - 1) + 1);
}

const ExportedArgument* argument(const ExportedNode& node, const char* name) {
  for (const ExportedArgument& given : node.arguments)
    if (given.name == name) return &given;
  return nullptr;
}

std::optional<size_t> value_of(const ExportedNode& node, const char* name) {
  const ExportedArgument* given = argument(node, name);
  if (given == nullptr || given->is_list ||
      given->items[0].kind != Kind::kValue)
    return std::nullopt;
  return given->items[0].value;
}

at::ScalarType libtorch_type(ExportedType type) {
  switch (type) {
    case ExportedType::kInt8:
      return at::kChar;
    case ExportedType::kInt16:
      return at::kShort;
    case ExportedType::kInt32:
      return at::kInt;
    case ExportedType::kInt64:
      return at::kLong;
    case ExportedType::kFloat16:
      return at::kHalf;
    case ExportedType::kFloat32:
      return at::kFloat;
    case ExportedType::kFloat64:
      return at::kDouble;
    case ExportedType::kBfloat16:
      return at::kBFloat16;
    default:
      return at::kByte;
  }
}

// A copy on the device. Networks compute in float32.
at::Tensor load(const ExportedTensor& tensor, c10::Device device) {
  int64_t elements = 1;  // from the first to the last
  for (size_t i = 0; i < tensor.sizes.size(); ++i)
    elements += (tensor.sizes[i] - 1) * tensor.strides[i];
  const bool is_empty =
      std::count(tensor.sizes.begin(), tensor.sizes.end(), 0) > 0;
  const int64_t width = element_size(tensor.type);
  // A mapped storage may lie anywhere; this one is aligned.
  const at::Tensor storage =
      at::empty({is_empty ? 0 : elements * width}, at::kByte);
  if (!is_empty)
    std::memcpy(storage.data_ptr(),
                tensor.storage.data.get() + tensor.offset * width,
                static_cast<size_t>(storage.numel()));
  at::Tensor loaded =
      at::from_blob(storage.data_ptr(), tensor.sizes, tensor.strides,
                    at::TensorOptions(libtorch_type(tensor.type)))
          .clone();
  if (tensor.type == ExportedType::kBool) loaded = loaded.ne(0);
  if (tensor.type == ExportedType::kFloat16 ||
      tensor.type == ExportedType::kBfloat16)
    loaded = loaded.to(at::kFloat);
  return loaded.to(device);
}

class Lifting {
 public:
  Lifting(const ExportedProgram& program, c10::Device device,
          const std::string& subject)
      : graph_(program.graph),
        device_(device),
        subject_(subject),
        makers_(program.graph.values),
        plan_(std::make_shared<ExportedPlan>()) {
    plan_->constants.resize(graph_.values);
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ExportedInput& input = graph_.inputs[i];
      if (input.kind == ExportedInput::Kind::kImages)
        plan_->images = i;
      else
        plan_->constants[i] = load(program.tensors.at(input.name), device);
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const ExportedResult& result : graph_.nodes[i].results)
        for (const size_t value : result.values)
          makers_[value] = i;
  }

  ExportedNetwork run() {
    check_shapes();
    find_nodes();
    find_norms();
    find_features();
    find_body();
    make_steps();
    plan_->output = graph_.output;
    result_.run = [plan = std::shared_ptr<const ExportedPlan>(plan_)](
                      torch::jit::Stack& stack) { run_plan(*plan, stack); };
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::kUnsupported, subject_, why);
  }

  void check_shapes() {
    const auto& images = graph_.image_shape;
    if (images.size() != 4)
      refuse(
          "expected a network of images [N, C, H, W], it takes a tensor of " +
          std::to_string(images.size()) + " dimensions");
    if (images[0])
      refuse("was exported for batches of " + std::to_string(*images[0]) +
             " images alone; export it with dynamic_shapes of its first "
             "dimension");
    const auto& logits = graph_.output_shape;
    if (logits.size() != 2 || !logits[1] || *logits[1] < 1 ||
        *logits[1] > kMostClasses)
      refuse("expected a network that gives logits [N, classes]");
    result_.classes = *logits[1];
  }

  // What is to be run, and whether this LibTorch can.
  void find_nodes() {
    for (const ExportedNode& node : graph_.nodes)
      operators_.push_back(find_operator(node.target));
    const ExportedLiveness found = find_liveness(graph_, operators_);
    live_ = found.nodes;
    plan_->written = found.written;
    std::set<std::string> missing, random;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::string& target = graph_.nodes[i].target;
      if (!live_[i]) continue;
      if (!operators_[i] && norm_kind(target) != NormKind::kBatch)
        missing.insert(operator_name(target));
      if (is_random(target)) random.insert(operator_name(target));
    }
    if (!missing.empty())
      refuse("needs operators that this LibTorch (" TORCH_VERSION
             ") does not have: " +
             joined(missing));
    if (!random.empty())
      refuse("draws random numbers (" + joined(random) +
             "), as networks do that were exported in training mode");
  }

  static bool is_random(const std::string& target) {
    return is_one_of(base_name(target), {"_fused_dropout",  "_sample_dirichlet",
                                         "_standard_gamma", "bernoulli",
                                         "binomial",        "cauchy",
                                         "exponential",     "geometric",
                                         "log_normal",      "multinomial",
                                         "normal",          "normal_functional",
                                         "poisson",         "rand",
                                         "rand_like",       "randint",
                                         "randint_like",    "randn",
                                         "randn_like",      "random",
                                         "randperm",        "uniform"});
  }

  static std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const auto& name : names)
      text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  // The input that a value is, if it is a tensor of the file.
  std::optional<size_t> held_by(std::optional<size_t> value) const {
    if (!value || *value >= graph_.inputs.size() || *value == plan_->images)
      return std::nullopt;
    return value;
  }

  // Also one that an operator of this name only lays out anew.
  std::optional<size_t> held_behind(
      std::optional<size_t> value,
      std::initializer_list<const char*> names) const {
    if (value && makers_[*value]) {
      const ExportedNode& maker = graph_.nodes[*makers_[*value]];
      if (is_one_of(base_name(maker.target), names))
        return held_by(value_of(maker, "self"));
    }
    return held_by(value);
  }

  at::Tensor tensor_of(size_t input) const {
    return plan_->constants[input].toTensor();
  }

  void find_norms() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto kind = norm_kind(graph_.nodes[i].target);
      if (live_[i] && kind) find_norm(i, *kind);
    }
    if (result_.norms.empty())
      refuse("has no norm layers to adapt, none with scales and shifts");
  }

  // Not so where batch norm standardises the weights of a convolution: it reads
  // them, or what one operator has made of them.
  bool sees_images(std::optional<size_t> value) const {
    return !held_behind(value, {"reshape", "view"});
  }

  // What has no scale and shift for each channel is part of the body.
  void find_norm(size_t number, NormKind kind) {
    const ExportedNode& node = graph_.nodes[number];
    const auto scale = held_behind(value_of(node, "weight"), {"repeat"});
    const auto shift = held_behind(value_of(node, "bias"), {"repeat"});
    const bool is_batch = kind == NormKind::kBatch;
    if (!scale || !shift) {
      if (is_batch &&
          (!operators_[number] || sees_images(value_of(node, "input"))))
        refuse("has a batch norm layer without scale or shift");
      return;
    }
    if (!is_batch &&
        (tensor_of(*scale).dim() != 1 || tensor_of(*shift).dim() != 1))
      return;
    NormPlaces places{*scale, *shift, {}, {}};
    if (is_batch) {
      places.running_mean = held_by(value_of(node, "running_mean"));
      places.running_var = held_by(value_of(node, "running_var"));
      if (!places.running_mean || !places.running_var)
        refuse("has a batch norm layer without running averages");
    }
    const auto known = std::find_if(
        plan_->norms.begin(), plan_->norms.end(),
        [&](const NormPlaces& other) { return other.scale == *scale; });
    norm_numbers_[number] = static_cast<size_t>(known - plan_->norms.begin());
    if (known == plan_->norms.end())
      add_norm(kind, places);
    else if (is_batch || known->shift != *shift)
      // Statistics or shifts would be those of one of the two.
      refuse(
          (is_batch ? "uses batch norm layer " : "uses scales of norm layer ") +
          result_.norms[norm_numbers_[number]].name + " twice");
  }

  void add_norm(NormKind kind, const NormPlaces& places) {
    GraphNorm norm{norm_name(graph_.inputs[places.scale].name),
                   kind,
                   tensor_of(places.scale),
                   tensor_of(places.shift),
                   {},
                   {}};
    if (places.running_mean) {
      norm.running_mean = tensor_of(*places.running_mean);
      norm.running_var = tensor_of(*places.running_var);
    }
    check_norm_vectors(norm, subject_);
    for (const size_t place : {places.scale, places.shift,
                               places.running_mean.value_or(places.scale),
                               places.running_var.value_or(places.scale)})
      in_norms_.insert(place);
    result_.norms.push_back(std::move(norm));
    plan_->norms.push_back(places);
  }

  // The last layer's input, where that is linear; its weights end the body.
  void find_features() {
    if (!makers_[graph_.output]) return;
    const ExportedNode& last = graph_.nodes[*makers_[graph_.output]];
    const std::string name = base_name(last.target);
    const char* const names[3] = {name == "aten::addmm" ? "mat1"
                                  : name == "aten::mm"  ? "self"
                                                        : "input",
                                  name == "aten::linear" ? "weight" : "mat2",
                                  name == "aten::addmm" ? "self" : "bias"};
    if (!is_one_of(name, {"linear", "addmm", "mm"})) return;
    plan_->features = value_of(last, names[0]);
    result_.gives_features = plan_->features.has_value();
    for (const size_t i : {1, 2}) {
      const auto held =
          held_behind(value_of(last, names[i]), {"permute", "transpose", "t"});
      if (held) classifier_.push_back(*held);
    }
  }

  // Every parameter outside the norm layers, in the order of their use.
  void find_body() {
    std::set<size_t> seen(in_norms_);
    seen.insert(classifier_.begin(), classifier_.end());
    std::vector<size_t> order;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!live_[i]) continue;
      for (const ExportedArgument& given : graph_.nodes[i].arguments)
        for (const ExportedItem& item : given.items)
          if (item.kind == Kind::kValue && held_by(item.value) &&
              seen.insert(item.value).second)
            order.push_back(item.value);
    }
    for (const size_t place : classifier_)
      if (in_norms_.count(place) == 0 &&
          std::count(order.begin(), order.end(), place) == 0)
        order.push_back(place);
    for (const size_t place : order) {
      const ExportedInput& input = graph_.inputs[place];
      if (input.kind != ExportedInput::Kind::kParameter ||
          !tensor_of(place).is_floating_point())
        continue;
      result_.body.push_back({input.name, tensor_of(place)});
      plan_->body.push_back(place);
    }
  }

  void make_steps() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (live_[i]) {
        plan_->steps.push_back(make_step(i));
        step_nodes_.push_back(i);
      }
    release_values();
  }

  ExportedStep make_step(size_t number) {
    const ExportedNode& node = graph_.nodes[number];
    ExportedStep step;
    if (norm_kind(node.target) != NormKind::kBatch ||
        norm_numbers_.count(number) == 0) {
      step.call.emplace(*operators_[number], for_inference(node), device_,
                        subject_);
      return step;
    }
    const auto input = value_of(node, "input");
    const ExportedArgument* epsilon = argument(node, "eps");
    if (!input || node.results.empty() || node.results[0].values.size() != 1 ||
        epsilon == nullptr || epsilon->is_list ||
        epsilon->items[0].kind != Kind::kFloat)
      refuse("has a batch norm layer without input, output or epsilon");
    step.norm = norm_numbers_.at(number);
    step.input = *input;
    step.output = node.results[0].values[0];
    step.epsilon = epsilon->items[0].real;
    return step;
  }

  // In whatever mode: nothing but norm layers does as in training.
  static ExportedNode for_inference(ExportedNode node) {
    if (node.target.find("norm") != std::string::npos) return node;
    for (ExportedArgument& given : node.arguments) {
      if (given.name == "train" || given.name == "training")
        given.items = {{Kind::kBool, 0, 0, 0, {}}};
      if (given.name == "dropout_p")
        given.items = {{Kind::kFloat, 0, 0, 0, {}}};
    }
    return node;
  }

  // A value goes when the last step that reads it has run.
  void release_values() {
    std::set<size_t> seen = {graph_.output};
    if (plan_->features) seen.insert(*plan_->features);
    for (size_t i = plan_->steps.size(); i-- > 0;)
      for (const ExportedArgument& given :
           graph_.nodes[step_nodes_[i]].arguments)
        for (const ExportedItem& item : given.items)
          if (item.kind == Kind::kValue && seen.insert(item.value).second)
            plan_->steps[i].last_used.push_back(item.value);
  }

  const ExportedGraph& graph_;
  c10::Device device_;
  std::string subject_;
  std::vector<std::optional<size_t>> makers_;  // the node that gives a value
  std::shared_ptr<ExportedPlan> plan_;
  ExportedNetwork result_;
  std::vector<std::optional<ExportedOperator>> operators_;  // of the nodes
  std::vector<bool> live_;
  std::map<size_t, size_t> norm_numbers_;  // of norm layers, by node
  std::set<size_t> in_norms_;              // inputs that are parts of them
  std::vector<size_t> classifier_;         // inputs of the last linear layer
  std::vector<size_t> step_nodes_;
};

}  // namespace

ExportedNetwork lift_exported(const ExportedProgram& program,
                              c10::Device device, const std::string& subject) {
  return Lifting(program, device, subject).run();
}

}  // namespace sotta
