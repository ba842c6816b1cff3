#include "models/torchscript_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include "sotta/core/error.h"

#include "models/torchscript_attention.h"
#include "nn/batch_norm.h"

namespace sotta {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// What stands in a graph where batch norm stood: our own, whose statistics are
// arguments. Made known to the interpreter once per process.
const c10::Symbol& norm_symbol() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("sotta::batch_norm");
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      "sotta::batch_norm(Tensor input, Tensor scale, Tensor shift, "
      "Tensor running_mean, Tensor running_var, Tensor batch_mean, "
      "Tensor batch_var, int source, float share, float epsilon) -> Tensor",
      [](torch::jit::Stack& stack) {
        constexpr size_t kArguments = 10;
        const auto argument = [&](size_t i) -> const c10::IValue& {
          return torch::jit::peek(stack, i, kArguments);
        };
        const at::Tensor input = argument(0).toTensor();
        const NormVectors vectors{
            argument(1).toTensor(), argument(2).toTensor(),
            argument(3).toTensor(), argument(4).toTensor(),
            argument(5).toTensor(), argument(6).toTensor()};
        const NormStats stats{
            static_cast<NormStats::Source>(argument(7).toInt()),
            argument(8).toDouble()};
        const double epsilon = argument(9).toDouble();
        torch::jit::drop(stack, kArguments);
        torch::jit::push(stack, batch_norm(input, vectors, stats, epsilon));
      },
      c10::AliasAnalysisKind::CONSERVATIVE)});
  return symbol;
}

void collect(torch::jit::Block* block, std::vector<Node*>& nodes) {
  for (Node* node : block->nodes()) {
    nodes.push_back(node);
    for (torch::jit::Block* inner : node->blocks())
      collect(inner, nodes);
  }
}

std::vector<Node*> all_nodes(torch::jit::Graph& graph) {
  std::vector<Node*> nodes;
  collect(graph.block(), nodes);
  return nodes;
}

// The names on the way from the module to an attribute: {"layer1", "0", "bn1"}.
std::vector<std::string> path_of(const Node* node) {
  std::vector<std::string> names;
  while (node->kind() == c10::prim::GetAttr) {
    names.push_back(node->s(c10::attr::name));
    node = node->input(0)->node();
  }
  std::reverse(names.begin(), names.end());
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ".") + name;
  return text;
}

c10::IValue attribute(const torch::jit::Module& module,
                      const std::vector<std::string>& path) {
  c10::IValue value = module._ivalue();
  for (const auto& name : path)
    value = value.toObject()->getAttr(name);
  return value;
}

// Where an operator has the scales of a norm layer; its shifts follow.
struct NormOperator {
  NormKind kind;
  size_t scale;
};

std::optional<NormOperator> norm_operator(const Node* node) {
  if (node->kind() == c10::aten::batch_norm)
    return NormOperator{NormKind::kBatch, 1};
  if (node->kind() == c10::aten::layer_norm)
    return NormOperator{NormKind::kLayer, 2};
  if (node->kind() == c10::aten::group_norm)
    return NormOperator{NormKind::kGroup, 2};
  if (node->kind() == c10::aten::instance_norm)
    return NormOperator{NormKind::kInstance, 1};
  return std::nullopt;
}

bool is_weighted(const Node* node) {
  return node->kind() == c10::aten::linear ||
         node->kind() == c10::aten::conv2d ||
         node->kind() == c10::aten::_convolution;
}

// Rewrites one graph, step by step.
class Lifting {
 public:
  Lifting(const torch::jit::Module& module, const std::string& subject)
      : module_(module), subject_(subject) {
    result_.graph = module.get_method("forward").graph()->copy();
    torch::jit::Inline(*result_.graph);
    unfuse_attention(result_.graph);
    name_living_function();
    for (const auto& parameter : module.named_parameters())
      parameters_.insert(parameter.name);
  }

  LiftedGraph run() {
    require_one_image_input();
    find_norms();
    lift_body();
    add_norm_inputs();
    add_features();
    torch::jit::EliminateDeadCode(result_.graph);
    // The module itself: nothing reads it any more.
    result_.graph->eraseInput(0);
    return result_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::kUnsupported, subject_, why);
  }

  // What the interpreter says of an error names the functions that the nodes
  // were inlined from. Freezing has destroyed them: here is one that lives.
  void name_living_function() {
    result_.functions = module_._ivalue()->compilation_unit();
    torch::jit::Function& forward = module_.get_method("forward").function();
    for (Node* node : all_nodes(*result_.graph))
      if (node->callstack())
        node->setCallStack(c10::make_intrusive<torch::jit::InlinedCallStack>(
            &forward, node->sourceRange()));
  }

  void require_one_image_input() const {
    if (result_.graph->inputs().size() != 2 ||
        result_.graph->outputs().size() != 1)
      refuse("expected a network that takes one tensor and gives one");
  }

  // The tensor that a value is, and its name; undefined if it is no attribute.
  NamedTensor held_by(const Value* value) const {
    const Node* node = value->node();
    if (node->kind() != c10::prim::GetAttr) return {};
    const auto path = path_of(node);
    const c10::IValue held = attribute(module_, path);
    if (!held.isTensor()) return {};
    return {joined(path), held.toTensor().detach()};
  }

  at::Tensor running_average(const Value* value) const {
    const at::Tensor found = held_by(value).tensor;
    if (!found.defined())
      refuse("has a batch norm layer without running averages");
    return found;
  }

  void find_norms() {
    for (Node* node : all_nodes(*result_.graph)) {
      const auto kind = norm_operator(node);
      if (kind) find_norm(node, *kind);
    }
    if (norm_nodes_.empty())
      refuse("has no norm layers to adapt, none with scales and shifts");
  }

  // Not so where batch norm standardises the weights of a convolution.
  bool sees_images(const Value* value) const {
    const Node* node = value->node();
    // Of the graph's parameters only the images are one; a loop's may be.
    if (node->kind() == c10::prim::Param)
      return value != result_.graph->inputs()[0];
    if (!node->blocks().empty()) return true;
    return std::any_of(node->inputs().begin(), node->inputs().end(),
                       [&](const Value* input) { return sees_images(input); });
  }

  // What has no scale and shift for each channel is part of the body.
  void find_norm(Node* node, const NormOperator& found) {
    const NamedTensor scale = held_by(node->input(found.scale));
    const NamedTensor shift = held_by(node->input(found.scale + 1));
    const bool is_batch = found.kind == NormKind::kBatch;
    if (!scale.tensor.defined() || !shift.tensor.defined()) {
      if (is_batch && sees_images(node->input(0)))
        refuse("has a batch norm layer without scale or shift");
      return;
    }
    if (!is_batch && (scale.tensor.dim() != 1 || shift.tensor.dim() != 1))
      return;
    GraphNorm norm{norm_name(scale.name), found.kind, scale.tensor,
                   shift.tensor,          {},         {}};
    if (is_batch) {
      norm.running_mean = running_average(node->input(3));
      norm.running_var = running_average(node->input(4));
    }
    const NormVectorNames names{scale.name, shift.name};
    const auto known = std::find_if(
        norm_vectors_.begin(), norm_vectors_.end(),
        [&](const auto& other) { return other.scale == names.scale; });
    const auto number = static_cast<size_t>(known - norm_vectors_.begin());
    if (known == norm_vectors_.end()) {
      check_norm_vectors(norm, subject_);
      result_.norms.push_back(norm);
      norm_vectors_.push_back(names);
    } else if (is_batch || known->shift != names.shift) {
      // Statistics or shifts would be those of one of the two.
      refuse(
          (is_batch ? "uses batch norm layer " : "uses scales of norm layer ") +
          result_.norms[number].name + " twice");
    }
    norm_nodes_.push_back({node, found, number});
  }

  // Every parameter outside the norm layers becomes an input, those of the last
  // linear layer last; every other attribute, a constant.
  void lift_body() {
    find_classifier();
    std::map<std::string, std::vector<Node*>> uses;
    std::vector<std::string> order;
    for (Node* node : all_nodes(*result_.graph)) {
      if (node->kind() != c10::prim::GetAttr || is_for_norms(node)) continue;
      const std::string name = joined(path_of(node));
      if (!parameters_.count(name)) {
        make_constant(node);
        continue;
      }
      if (!uses.count(name) && !is_part_of_classifier(name))
        order.push_back(name);
      uses[name].push_back(node);
    }
    for (const auto& name : classifier_)
      if (uses.count(name)) order.push_back(name);
    for (const auto& name : order) {
      Value* input = result_.graph->addInput();
      const c10::IValue held = attribute(module_, path_of(uses[name].front()));
      for (Node* use : uses[name])
        use->output()->replaceAllUsesWith(input);
      result_.body.push_back({name, held.toTensor().detach()});
    }
  }

  void make_constant(Node* node) {
    c10::IValue held = attribute(module_, path_of(node));
    if (held.isModule()) return;
    if (held.isTensor()) held = held.toTensor().detach();
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(result_.graph->insertConstant(held));
  }

  bool is_part_of_classifier(const std::string& name) const {
    return std::count(classifier_.begin(), classifier_.end(), name) > 0;
  }

  // Whether only norm layers read it, as their vectors. Their module may have
  // others, which belong to the body.
  bool is_for_norms(const Node* node) const {
    const auto& uses = node->output()->uses();
    return !uses.empty() &&
           std::all_of(uses.begin(), uses.end(),
                       [&](const auto& use) { return is_norm_vector(use); });
  }

  bool is_norm_vector(const torch::jit::Use& use) const {
    return std::any_of(
        norm_nodes_.begin(), norm_nodes_.end(), [&](const NormNode& norm) {
          const size_t count = norm.found.kind == NormKind::kBatch ? 4 : 2;
          return use.user == norm.node && use.offset >= norm.found.scale &&
                 use.offset < norm.found.scale + count;
        });
  }

  // The number of classes is that of the last layer with weights: heads may be
  // averaged, or pooled behind a convolution. Where that is not the network's
  // last operator, a run has to tell.
  void find_classifier() {
    for (const Node* node : all_nodes(*result_.graph)) {
      if (!is_weighted(node)) continue;
      const at::Tensor weight = held_by(node->input(1)).tensor;
      if (weight.defined() && weight.dim() > 0)
        result_.classes = weight.size(0);
    }
    const Node* last = result_.graph->outputs()[0]->node();
    result_.knows_classes = last->kind() == c10::aten::linear &&
                            held_by(last->input(1)).tensor.defined();
    if (last->kind() != c10::aten::linear) return;
    result_.gives_features = true;
    for (const size_t part : {1, 2}) {
      const std::string name = held_by(last->input(part)).name;
      if (!name.empty()) classifier_.push_back(name);
    }
  }

  void add_norm_inputs() {
    std::vector<std::vector<Value*>> vectors(result_.norms.size());
    for (size_t i = 0; i < vectors.size(); ++i)
      while (vectors[i].size() <
             (result_.norms[i].kind == NormKind::kBatch ? 6 : 2))
        vectors[i].push_back(result_.graph->addInput());
    Value* source = result_.graph->addInput()->setType(c10::IntType::get());
    Value* share = result_.graph->addInput()->setType(c10::FloatType::get());
    for (const NormNode& norm : norm_nodes_) {
      const auto& given = vectors[norm.number];
      if (norm.found.kind == NormKind::kBatch) {
        put_our_batch_norm(norm.node, given, source, share);
        continue;
      }
      norm.node->replaceInput(norm.found.scale, given[0]);
      norm.node->replaceInput(norm.found.scale + 1, given[1]);
    }
  }

  void put_our_batch_norm(Node* old, const std::vector<Value*>& vectors,
                          Value* source, Value* share) {
    Node* ours = result_.graph->create(norm_symbol());
    ours->addInput(old->input(0));
    for (Value* value : vectors)
      ours->addInput(value);
    ours->addInput(source);
    ours->addInput(share);
    ours->addInput(old->input(7));  // epsilon
    ours->insertBefore(old);
    old->output()->replaceAllUsesWith(ours->output());
    old->destroy();
  }

  void add_features() {
    if (result_.gives_features)
      result_.graph->registerOutput(
          result_.graph->outputs()[0]->node()->input(0));
  }

  struct NormVectorNames {
    std::string scale, shift;
  };

  // A norm layer where it runs.
  struct NormNode {
    Node* node;
    NormOperator found;
    size_t number;  // in LiftedGraph::norms
  };

  const torch::jit::Module& module_;
  std::string subject_;
  LiftedGraph result_;
  std::set<std::string> parameters_;  // names of all
  std::vector<NormNode> norm_nodes_;
  std::vector<NormVectorNames> norm_vectors_;  // of LiftedGraph::norms
  std::vector<std::string> classifier_;  // names of the last linear layer's
};

}  // namespace

LiftedGraph lift_graph(const torch::jit::Module& module,
                       const std::string& subject) try {
  if (!module.find_method("forward"))
    fail(ErrorKind::kUnsupported, subject,
         "expected a network with a forward method, found none");
  torch::jit::Module copy = module.clone();
  copy.eval();
  // Folds modes and sizes into constants; parameters stay attributes.
  const torch::jit::Module frozen =
      torch::jit::freeze_module(copy, {}, /*freezeInterfaces=*/true,
                                /*preserveParameters=*/true);
  return Lifting(frozen, subject).run();
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  fail_to_adapt(subject, error);
}

}  // namespace sotta
