#include "models/exported/exported_plan.h"

#include <ATen/core/Tensor.h>

#include "nn/batch_norm.h"

namespace sotta {
namespace {

using Values = std::vector<c10::IValue>;

struct BatchStatistics {
  at::Tensor mean, var;
};

// Takes a GraphRun's inputs from the stack to their places.
std::vector<BatchStatistics> take_inputs(const ExportedPlan& plan,
                                         const torch::jit::Stack& stack,
                                         Values& values) {
  size_t next = 0;
  values[plan.images] = stack[next++];
  for (const size_t place : plan.body)
    values[place] = stack[next++];
  std::vector<BatchStatistics> statistics(plan.norms.size());
  for (size_t i = 0; i < plan.norms.size(); ++i) {
    const NormPlaces& norm = plan.norms[i];
    values[norm.scale] = stack[next++];
    values[norm.shift] = stack[next++];
    if (!norm.running_mean) continue;
    values[*norm.running_mean] = stack[next++];
    values[*norm.running_var] = stack[next++];
    statistics[i].mean = stack[next++].toTensor();
    statistics[i].var = stack[next++].toTensor();
  }
  for (const size_t place : plan.written)
    if (values[place].isTensor())
      values[place] = values[place].toTensor().clone();
  return statistics;
}

}  // namespace

void run_plan(const ExportedPlan& plan, torch::jit::Stack& stack) {
  Values values = plan.constants;
  const auto statistics = take_inputs(plan, stack, values);
  const NormStats stats{
      static_cast<NormStats::Source>(stack[stack.size() - 2].toInt()),
      stack.back().toDouble()};
  for (const ExportedStep& step : plan.steps) {
    if (step.call) {
      step.call->run(values);
    } else {
      const NormPlaces& norm = plan.norms[step.norm];
      const auto tensor = [&](size_t place) {
        return values[place].toTensor();
      };
      values[step.output] =
          batch_norm(tensor(step.input),
                     {tensor(norm.scale), tensor(norm.shift),
                      tensor(*norm.running_mean), tensor(*norm.running_var),
                      statistics[step.norm].mean, statistics[step.norm].var},
                     stats, step.epsilon);
    }
    for (const size_t value : step.last_used)
      values[value] = {};
  }
  stack = torch::jit::Stack{values[plan.output]};
  if (plan.features) stack.push_back(values[*plan.features]);
}

}  // namespace sotta
