#include "gpu/captured_function.h"

#include <utility>

#include <ATen/ops/empty_like.h>

#include "gpu/cuda_graph.h"

namespace sotta {
namespace {

// Calls of a shape in a row that run the function itself, before one is
// captured: in the first, libraries get ready for it.
constexpr int64_t kWarmUpCalls = 1;

// A stream's windows have one shape, as bytes and, under attack, as floats.
// Every graph keeps the memory of a whole call.
constexpr size_t kMostGraphs = 2;

}  // namespace

// A graph reads and writes the same memory at every launch.
struct CapturedFunction::Captured {
  Captured(const Function& function, const Tensors& examples)
      : forms(forms_of(examples)),
        graph([this, &function] { outputs = function(inputs); },
              examples[0].device(), /*capture=*/true, /*warm_up_runs=*/0) {
    for (const auto& example : examples)
      inputs.push_back(at::empty_like(example, at::MemoryFormat::Contiguous));
  }

  std::vector<Form> forms;
  Tensors inputs, outputs;
  CudaGraph graph;
};

CapturedFunction::CapturedFunction(Function function, bool capture)
    : function_(std::move(function)), capture_(capture) {}

CapturedFunction::~CapturedFunction() = default;

CapturedFunction::Tensors CapturedFunction::operator()(const Tensors& inputs) {
  Captured* captured = capture_ ? find(inputs) : nullptr;
  if (captured == nullptr) return function_(inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    captured->inputs[i].copy_(inputs[i]);
  captured->graph.run();
  Tensors results;
  for (const auto& output : captured->outputs)
    results.push_back(output.clone());
  return results;
}

std::vector<CapturedFunction::Form> CapturedFunction::forms_of(
    const Tensors& tensors) {
  std::vector<Form> forms;
  for (const auto& tensor : tensors)
    forms.emplace_back(tensor.scalar_type(), tensor.sizes().vec());
  return forms;
}

CapturedFunction::Captured* CapturedFunction::find(const Tensors& inputs) {
  std::vector<Form> forms = forms_of(inputs);
  for (const auto& captured : captured_)
    if (captured->forms == forms) return captured.get();
  alike_ = forms == last_ ? alike_ + 1 : 1;
  last_ = std::move(forms);
  if (alike_ <= kWarmUpCalls || captured_.size() == kMostGraphs) return nullptr;
  captured_.push_back(std::make_unique<Captured>(function_, inputs));
  return captured_.back().get();
}

}  // namespace sotta
