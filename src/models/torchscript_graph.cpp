#include "models/torchscript_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include "sotta/core/error.h"

#include "gpu/out_of_memory.h"
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
      "Tensor batch_var, int source, float share) -> Tensor",
      [](torch::jit::Stack& stack) {
        const auto argument = [&](size_t i) -> const c10::IValue& {
          return torch::jit::peek(stack, i, 9);
        };
        const at::Tensor input = argument(0).toTensor();
        const NormVectors vectors{
            argument(1).toTensor(), argument(2).toTensor(),
            argument(3).toTensor(), argument(4).toTensor(),
            argument(5).toTensor(), argument(6).toTensor()};
        const NormStats stats{
            static_cast<NormStats::Source>(argument(7).toInt()),
            argument(8).toDouble()};
        torch::jit::drop(stack, 9);
        torch::jit::push(stack, batch_norm(input, vectors, stats));
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

// Rewrites one graph, step by step.
class Lifting {
 public:
  Lifting(const torch::jit::Module& module, const std::string& subject)
      : module_(module), subject_(subject) {
    result_.graph = module.get_method("forward").graph()->copy();
    torch::jit::Inline(*result_.graph);
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

  void require_one_image_input() const {
    if (result_.graph->inputs().size() != 2 ||
        result_.graph->outputs().size() != 1)
      refuse("expected a network that takes one tensor and gives one");
  }

  // The tensor that an input of a norm layer is, and its name.
  NamedTensor norm_attribute(const Value* value) const {
    const Node* node = value->node();
    if (node->kind() == c10::prim::GetAttr) {
      const auto path = path_of(node);
      const c10::IValue held = attribute(module_, path);
      if (held.isTensor()) return {joined(path), held.toTensor().detach()};
    }
    refuse("has a batch norm layer without scale, shift or running averages");
  }

  void find_norms() {
    for (Node* node : all_nodes(*result_.graph)) {
      if (node->kind() != c10::aten::batch_norm) continue;
      const auto epsilon = torch::jit::toIValue(node->input(7));
      if (!epsilon || epsilon->toDouble() != kNormEpsilon)
        refuse("has a batch norm layer whose epsilon is not 1e-5");
      const NamedTensor scale = norm_attribute(node->input(1));
      const std::string name =
          scale.name.substr(0, scale.name.find_last_of('.'));
      if (!norm_names_.insert(name).second)
        refuse("uses norm layer " + name + " twice");
      result_.norms.push_back({name, scale.tensor,
                               norm_attribute(node->input(2)).tensor,
                               norm_attribute(node->input(3)).tensor,
                               norm_attribute(node->input(4)).tensor});
      check_vectors(result_.norms.back());
      norm_nodes_.push_back(node);
    }
    if (norm_nodes_.empty()) refuse("has no batch norm layers to adapt");
  }

  void check_vectors(const GraphNorm& norm) const {
    for (const at::Tensor& vector :
         {norm.scale, norm.shift, norm.running_mean, norm.running_var})
      if (vector.dim() != 1 || vector.numel() != norm.scale.numel() ||
          !vector.is_floating_point())
        refuse("norm layer " + norm.name +
               " has vectors of different lengths, or no vectors of numbers");
  }

  // Every parameter outside the norm layers becomes an input, those of the last
  // linear layer last; every other attribute, a constant.
  void lift_body() {
    find_classifier();
    std::map<std::string, std::vector<Node*>> uses;
    std::vector<std::string> order;
    for (Node* node : all_nodes(*result_.graph)) {
      if (node->kind() != c10::prim::GetAttr || is_part_of_norm(node)) continue;
      const std::string name = joined(path_of(node));
      if (!parameters_.count(name)) {
        make_constant(node);
        continue;
      }
      if (!uses.count(name) && !is_part_of_classifier(name))
        order.push_back(name);
      uses[name].push_back(node);
    }
    order.insert(order.end(), {classifier_.first, classifier_.second});
    for (const auto& name : order) {
      if (uses[name].empty())
        refuse("its last linear layer has no parameters of its own");
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
    return name == classifier_.first || name == classifier_.second;
  }

  bool is_part_of_norm(const Node* node) const {
    auto path = path_of(node);
    path.pop_back();
    return norm_names_.count(joined(path)) > 0;
  }

  void find_classifier() {
    linear_ = result_.graph->outputs()[0]->node();
    if (linear_->kind() != c10::aten::linear ||
        linear_->input(1)->node()->kind() != c10::prim::GetAttr ||
        linear_->input(2)->node()->kind() != c10::prim::GetAttr)
      refuse("does not end in a linear layer with a bias");
    classifier_ = {joined(path_of(linear_->input(1)->node())),
                   joined(path_of(linear_->input(2)->node()))};
  }

  void add_norm_inputs() {
    std::vector<std::vector<Value*>> vectors(norm_nodes_.size());
    for (auto& values : vectors)
      for (int i = 0; i < 6; ++i)
        values.push_back(result_.graph->addInput());
    Value* source = result_.graph->addInput()->setType(c10::IntType::get());
    Value* share = result_.graph->addInput()->setType(c10::FloatType::get());
    for (size_t i = 0; i < norm_nodes_.size(); ++i) {
      Node* old = norm_nodes_[i];
      Node* ours = result_.graph->create(norm_symbol());
      ours->addInput(old->input(0));
      for (Value* value : vectors[i])
        ours->addInput(value);
      ours->addInput(source);
      ours->addInput(share);
      ours->insertBefore(old);
      old->output()->replaceAllUsesWith(ours->output());
      old->destroy();
    }
  }

  void add_features() { result_.graph->registerOutput(linear_->input(0)); }

  const torch::jit::Module& module_;
  std::string subject_;
  LiftedGraph result_;
  std::set<std::string> parameters_;  // names of all
  std::vector<Node*> norm_nodes_;
  std::set<std::string> norm_names_;
  Node* linear_ = nullptr;
  std::pair<std::string, std::string> classifier_;  // its parameters' names
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

std::string libtorch_reason(const std::exception& error) {
  const std::string text = error.what();
  const std::string mark = "\nRuntimeError: ";
  const size_t found = text.rfind(mark);
  std::string reason =
      found == std::string::npos
          ? first_line(error)
          : first_line(std::runtime_error(text.substr(found + mark.size())));
  for (char& c : reason)
    if (c < ' ' || c > '~') c = '?';  // bytes of the file that it quotes
  // The place in the code would follow.
  while (reason.back() == ':' || reason.back() == ' ')
    reason.pop_back();
  return reason;
}

void fail_to_adapt(const std::string& subject, const std::exception& error) {
  if (is_out_of_memory(error)) throw;
  fail(ErrorKind::kUnsupported, subject,
       "cannot be made ready for adaptation, LibTorch says: " +
           libtorch_reason(error));
}

}  // namespace sotta
