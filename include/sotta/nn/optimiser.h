#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

namespace sotta {

// Takes gradient steps on one flat float vector. Its own vectors live where
// the parameters live, and a step never waits for the device. Needs the
// caller's lock, as it changes the parameters and itself.
class Optimiser {
 public:
  virtual ~Optimiser() = default;

  // Changes `parameters` in place, without a trace in autograd. Parameters that
  // the mask freezes keep their bits, whatever their gradient and the weight
  // decay. Throws Error(kInvalid) if the shapes differ from each other, from
  // the mask's or from those of earlier steps.
  virtual void step(const at::Tensor& parameters,
                    const at::Tensor& gradient) = 0;

  // step() in two halves, for steps that are captured as a CUDA graph: the
  // first counts and stays outside the graph, the second is all device's work.
  // `captured` says that the second may be part of a graph: what changes from
  // step to step then lies in tensors, and the last bits may be others.
  virtual void begin_step(const at::Tensor& parameters, bool captured) = 0;
  virtual void take_step(const at::Tensor& parameters,
                         const at::Tensor& gradient) = 0;

  // Everything that earlier steps left behind. The tensors have fixed names and
  // are undefined before the first step.
  struct State {
    std::map<std::string, at::Tensor> tensors;
    int64_t steps = 0;
  };

  // A copy: later steps do not change it.
  virtual State state() const = 0;

  // Continues as the optimiser that gave this state would; an empty one forgets
  // all earlier steps. Its own tensors stay where they are in memory. Throws
  // Error(kInvalid), and changes nothing, if it comes from another kind.
  virtual void set_state(const State& state) = 0;
};

// Kingma and Ba, Adam (2015); rounds as torch.optim.Adam does.
struct AdamOptions {
  double learning_rate = 1e-3;  // at least 0
  double weight_decay = 0;      // times the parameters, added to the gradient
  double beta1 = 0.9;           // memory of the mean gradient, 0 to below 1
  double beta2 = 0.999;         // memory of its square, 0 to below 1
  double epsilon = 1e-8;        // keeps the quotient finite, above 0
};

// Rounds as torch.optim.SGD does.
struct SgdOptions {
  double learning_rate = 1e-3;  // at least 0
  double momentum = 0;          // share of the last step kept, 0 to below 1
  double weight_decay = 0;      // times the parameters, added to the gradient
  bool nesterov = false;  // looks a step of momentum ahead; needs momentum
};

// `mask` has the parameters' shape: where it is 0 the parameter is frozen.
// Undefined: none is. Both throw Error(kInvalid) for options out of range.
//
// State: first_moment and second_moment.
std::unique_ptr<Optimiser> make_adam(const AdamOptions& options,
                                     at::Tensor mask = {});
// State: momentum, unless the options have none. For schedules: `rate`, one
// float on the parameters' device, takes the place of options.learning_rate and
// is read anew at each step.
std::unique_ptr<Optimiser> make_sgd(const SgdOptions& options,
                                    at::Tensor mask = {}, at::Tensor rate = {});

}  // namespace sotta
