#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/nn/optimiser.h"

namespace sotta {

// Checks of options; each throws Error(kInvalid). From 0 to below `high`:
void check_option(const std::string& name, double value, double high);
void check_epsilon(double epsilon);
void check_rate(const at::Tensor& rate);  // undefined, or one float

// What optimisers share: weight decay in the gradient, mask, and the state by
// name.
class FlatOptimiser : public Optimiser {
 public:
  FlatOptimiser(const std::vector<std::string>& names, double weight_decay,
                const at::Tensor& mask);

  void step(const at::Tensor& parameters, const at::Tensor& gradient) final;
  void begin_step(const at::Tensor& parameters, bool captured) final;
  void take_step(const at::Tensor& parameters,
                 const at::Tensor& gradient) final;
  State state() const final;
  void set_state(const State& state) final;

 protected:
  // What depends on the number of the step, which is steps(), counted from 1.
  virtual void prepare(const at::Tensor& /*parameters*/, bool /*captured*/) {}

  // The step along a gradient that already has decay and mask in it.
  virtual void apply(const at::Tensor& parameters,
                     const at::Tensor& gradient) = 0;

  int64_t steps() const { return state_.steps; }
  at::Tensor& tensor(const std::string& name) {
    return state_.tensors.at(name);
  }

 private:
  at::Tensor effective(const at::Tensor& gradient,
                       const at::Tensor& parameters) const;

  double weight_decay_;
  at::Tensor frozen_;  // bool; undefined: nothing is
  State state_;
};

}  // namespace sotta
