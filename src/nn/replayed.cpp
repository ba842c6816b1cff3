#include "sotta/nn/replayed.h"

#include <utility>

#include <ATen/ops/empty_like.h>

#include "sotta/nn/step_graph.h"

namespace sotta {
namespace {

// Plain calls of a shape in a row before it is recorded: in the first,
// libraries get ready for it.
constexpr int64_t kPlainCalls = 1;

// A stream's windows have one shape, as bytes and, under attack, as floats.
// Every recording keeps the memory of a whole call.
constexpr size_t kRecordings = 2;

bool alike(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

}  // namespace

// Replays read and write the same memory every time.
struct Replayed::Recorded {
  Recorded(const Function& function, const at::Tensor& example)
      : input(at::empty_like(example, at::MemoryFormat::Contiguous)),
        graph([this, &function] { outputs = function(input); },
              example.device(), /*replay=*/true, /*plain_runs=*/0) {}

  at::Tensor input;
  std::vector<at::Tensor> outputs;
  StepGraph graph;
};

Replayed::Replayed(Function function, bool replay)
    : function_(std::move(function)), replay_(replay) {}

Replayed::~Replayed() = default;

std::vector<at::Tensor> Replayed::operator()(const at::Tensor& input) {
  Recorded* recorded = replay_ ? find(input) : nullptr;
  if (recorded == nullptr) return function_(input);
  recorded->input.copy_(input);
  recorded->graph.run();
  std::vector<at::Tensor> results;
  for (const auto& output : recorded->outputs)
    results.push_back(output.clone());
  return results;
}

Replayed::Recorded* Replayed::find(const at::Tensor& input) {
  for (const auto& recorded : recorded_)
    if (alike(recorded->input, input)) return recorded.get();
  const bool like_the_last =
      last_type_ == input.scalar_type() && last_shape_ == input.sizes();
  alike_ = like_the_last ? alike_ + 1 : 1;
  last_shape_ = input.sizes().vec();
  last_type_ = input.scalar_type();
  if (alike_ <= kPlainCalls || recorded_.size() == kRecordings) return nullptr;
  recorded_.push_back(std::make_unique<Recorded>(function_, input));
  return recorded_.back().get();
}

}  // namespace sotta
