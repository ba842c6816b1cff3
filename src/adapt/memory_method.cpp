#include "adapt/memory_method.h"

#include <utility>

#include <ATen/core/grad_mode.h>

namespace sotta {

MemoryMethod::MemoryMethod(const MethodContext& context,
                           std::unique_ptr<SampleMemory> memory,
                           int64_t capacity)
    : state_(context.model->source().clone_norm()),
      memory_(std::move(memory), capacity, context.model->classes(),
              context.rng.child("memory")),
      executor_(executor_of(context)),
      measure_loss_after_(context.measure_loss_after),
      answer_(*executor_, [this](const at::Tensor& images) {
        return Answer(predict(images));
      }) {}

at::Tensor MemoryMethod::predict(const at::Tensor& images) const {
  const at::NoGradGuard no_gradients;
  return executor_->forward(images, state_, NormStats::running()).logits;
}

Observation MemoryMethod::observe(const at::Tensor& images, bool) {
  const Answer given = answer(images);
  const Prediction prediction = read_prediction(given.packed);
  return {given.logits, prediction, memory_.offer(images, prediction)};
}

UpdateReport MemoryMethod::update() {
  if (!memory_.empty()) return learn(memory_.images());
  UpdateReport report;
  report.skipped = "the memory is empty";
  return report;
}

std::vector<int64_t> MemoryMethod::memory_samples() const {
  std::vector<int64_t> samples;
  for (const auto& item : memory_.items())
    samples.push_back(item.sample);
  return samples;
}

}  // namespace sotta
