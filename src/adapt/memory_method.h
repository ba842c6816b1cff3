#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"

#include "adapt/answer.h"
#include "adapt/memory/image_memory.h"
#include "engine/recurring_work.h"

namespace sotta {

// The frame of the methods that learn from a memory of the stream. They predict
// with running statistics: a sample's prediction is its own affair, whatever
// else is in the window.
class MemoryMethod : public Method {
 public:
  at::Tensor predict(const at::Tensor& images) const override;

  // One pass gives predictions, confidences and pseudo-labels of all samples:
  // what predicts does not change before the window is full.
  Observation observe(const at::Tensor& images, bool completes_window) override;

  UpdateReport update() override;
  void drop_window(int64_t next) override { memory_.go_on_at(next); }
  std::vector<int64_t> memory_samples() const override;
  at::Tensor memory_images() const override { return memory_.copy_images(); }
  ModelState state() const override { return state_; }

 protected:
  MemoryMethod(const MethodContext& context,
               std::unique_ptr<SampleMemory> memory, int64_t capacity);

  // The update proper, on the images in the memory, of which there are some.
  virtual UpdateReport learn(const at::Tensor& images) = 0;

  // What predict() says of a part of a window, as work that recurs
  // (engine/recurring_work.h).
  Answer answer(const at::Tensor& images) { return answer_(images); }

  const Executor& executor() const { return *executor_; }
  std::shared_ptr<const Executor> shared_executor() const { return executor_; }
  const Classifier& model() const { return executor_->model(); }
  bool measures_loss_after() const { return measure_loss_after_; }
  at::Device device() const { return executor_->device(); }

  ModelState state_;  // predicts; stays where it is in memory
  ImageMemory memory_;

 private:
  std::shared_ptr<const Executor> executor_;
  bool measure_loss_after_;
  RecurringWork<Answer> answer_;
};

}  // namespace sotta
