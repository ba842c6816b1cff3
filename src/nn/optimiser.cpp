#include "sotta/nn/optimiser.h"

#include <cmath>
#include <sstream>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

void check_shape(const std::string& subject, const at::Tensor& found,
                 const at::Tensor& expected) {
  if (found.sizes() == expected.sizes()) return;
  std::ostringstream problem;
  problem << "expected the parameters' shape " << expected.sizes() << ", got "
          << found.sizes();
  fail(ErrorKind::kInvalid, subject, problem.str());
}

// From 0 to below `high`; a NaN is neither.
void check_option(const std::string& name, double value, double high) {
  if (value >= 0 && value < high) return;
  std::ostringstream problem;
  problem << "expected a number from 0 to below " << high << ", got " << value;
  fail(ErrorKind::kInvalid, name, problem.str());
}

constexpr double kNoLimit = HUGE_VAL;

// What both optimisers share: weight decay, mask, and the state by name.
class FlatOptimiser : public Optimiser {
 public:
  FlatOptimiser(const std::vector<std::string>& names, double weight_decay,
                const at::Tensor& mask)
      : weight_decay_(weight_decay) {
    for (const auto& name : names)
      state_.tensors[name] = at::Tensor();
    if (mask.defined()) frozen_ = mask == 0;
  }

  void step(const at::Tensor& parameters, const at::Tensor& gradient) final {
    check_gradient(parameters, gradient);
    begin_step(parameters, /*captured=*/false);
    take_step(parameters, gradient);
  }

  void begin_step(const at::Tensor& parameters, bool captured) final {
    if (frozen_.defined()) check_shape("mask", frozen_, parameters);
    for (auto& [name, tensor] : state_.tensors) {
      if (state_.steps > 0) check_shape(name, tensor, parameters);
      if (!tensor.defined() || tensor.sizes() != parameters.sizes())
        tensor = at::zeros_like(parameters);
    }
    ++state_.steps;
    prepare(parameters, captured);
  }

  void take_step(const at::Tensor& parameters,
                 const at::Tensor& gradient) final {
    check_gradient(parameters, gradient);
    const at::NoGradGuard no_grad;
    apply(parameters, effective(gradient.detach(), parameters));
  }

  State state() const final {
    State result = state_;
    for (auto& [name, tensor] : result.tensors)
      tensor = state_.steps > 0 ? tensor.clone() : at::Tensor();
    return result;
  }

  void set_state(const State& state) final {
    State accepted = state;
    for (const auto& [name, tensor] : state.tensors)
      require(state_.tensors.count(name) == 1, "optimiser state",
              "\"" + name + "\" belongs to another kind of optimiser");
    for (const auto& [name, tensor] : state_.tensors)
      require(accepted.tensors[name].defined() == (state.steps > 0),
              "optimiser state",
              "\"" + name + "\" must be there after a first step, not before");
    state_.steps = state.steps;
    for (auto& [name, tensor] : state_.tensors)
      overwrite(tensor, accepted.tensors[name]);
  }

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
  // A frozen parameter's gradient is zero; so are its moments then, and adding
  // nothing to a float leaves its bits as they are.
  at::Tensor effective(const at::Tensor& gradient,
                       const at::Tensor& parameters) const {
    at::Tensor result = gradient;
    if (weight_decay_ != 0) result = result.add(parameters, weight_decay_);
    if (frozen_.defined()) result = result.masked_fill(frozen_, 0);
    return result;
  }

  static void check_gradient(const at::Tensor& parameters,
                             const at::Tensor& gradient) {
    check_shape("gradient", gradient, parameters);
    require(gradient.scalar_type() == parameters.scalar_type(), "gradient",
            "expected the parameters' element type");
  }

  // In place if there is a place: a CUDA graph may know it. Before the first
  // step there is nothing, or zeros.
  static void overwrite(at::Tensor& mine, const at::Tensor& theirs) {
    if (!theirs.defined()) {
      if (mine.defined()) mine.zero_();
    } else if (mine.defined() && mine.sizes() == theirs.sizes()) {
      mine.copy_(theirs);
    } else {
      mine = theirs.detach().clone();
    }
  }

  double weight_decay_;
  at::Tensor frozen_;  // bool; undefined: nothing is
  State state_;
};

class Adam final : public FlatOptimiser {
 public:
  Adam(const AdamOptions& options, const at::Tensor& mask)
      : FlatOptimiser({"first_moment", "second_moment"}, options.weight_decay,
                      mask),
        options_(options) {}

 private:
  // A CUDA graph repeats numbers, so there the count comes from a tensor.
  void prepare(const at::Tensor& parameters, bool captured) override {
    const auto step = static_cast<double>(steps());
    rate_ = -options_.learning_rate / (1 - std::pow(options_.beta1, step));
    root_ = std::sqrt(1 - std::pow(options_.beta2, step));
    captured_ = captured && parameters.is_cuda();
    if (!captured_) return;
    if (!count_.defined())
      count_ = at::empty(
          {}, parameters.options().dtype(at::kFloat).requires_grad(false));
    count_.fill_(steps());
  }

  void apply(const at::Tensor& parameters,
             const at::Tensor& gradient) override {
    if (captured_)
      apply_in_one(parameters, gradient);
    else
      apply_plainly(parameters, gradient);
  }

  // The order of operations is torch.optim.Adam's: another rounds differently.
  void apply_plainly(const at::Tensor& parameters, const at::Tensor& gradient) {
    const at::Tensor& first = tensor("first_moment");
    const at::Tensor& second = tensor("second_moment");
    const double beta1 = options_.beta1, beta2 = options_.beta2;
    first.mul_(beta1).add_(gradient, 1 - beta1);
    second.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
    parameters.addcdiv_(first, second.sqrt().div_(root_).add_(options_.epsilon),
                        rate_);
  }

  // The same in one kernel.
  void apply_in_one(const at::Tensor& parameters, const at::Tensor& gradient) {
    at::_fused_adam_(parameters, gradient, tensor("first_moment"),
                     tensor("second_moment"), /*max_exp_avg_sqs=*/{}, count_,
                     options_.learning_rate, options_.beta1, options_.beta2,
                     /*weight_decay=*/0, options_.epsilon, /*amsgrad=*/false,
                     /*maximize=*/false);
  }

  AdamOptions options_;
  double rate_ = 0, root_ = 1;  // of this step
  bool captured_ = false;
  at::Tensor count_;  // this step's number, where a CUDA graph reads it
};

class Sgd final : public FlatOptimiser {
 public:
  Sgd(const SgdOptions& options, const at::Tensor& mask, at::Tensor rate)
      : FlatOptimiser(options.momentum == 0
                          ? std::vector<std::string>{}
                          : std::vector<std::string>{"momentum"},
                      options.weight_decay, mask),
        options_(options),
        rate_(std::move(rate)) {}

 private:
  void apply(const at::Tensor& parameters,
             const at::Tensor& gradient) override {
    at::Tensor direction = gradient;
    if (options_.momentum != 0) {
      const at::Tensor& momentum = tensor("momentum");
      momentum.mul_(options_.momentum).add_(gradient);
      direction = options_.nesterov ? gradient.add(momentum, options_.momentum)
                                    : momentum;
    }
    if (rate_.defined())
      parameters.addcmul_(direction, rate_, -1);
    else
      parameters.add_(direction, -options_.learning_rate);
  }

  SgdOptions options_;
  at::Tensor rate_;  // undefined: the options'
};

}  // namespace

std::unique_ptr<Optimiser> make_adam(const AdamOptions& options,
                                     at::Tensor mask) {
  check_option("learning_rate", options.learning_rate, kNoLimit);
  check_option("beta1", options.beta1, 1);
  check_option("beta2", options.beta2, 1);
  check_option("weight_decay", options.weight_decay, kNoLimit);
  // Smaller ones are zero in a float, and a zero gradient would give 0/0.
  require(options.epsilon >= 1e-37, "epsilon", "expected at least 1e-37");
  return std::make_unique<Adam>(options, mask);
}

std::unique_ptr<Optimiser> make_sgd(const SgdOptions& options, at::Tensor mask,
                                    at::Tensor rate) {
  check_option("learning_rate", options.learning_rate, kNoLimit);
  check_option("momentum", options.momentum, 1);
  require(!options.nesterov || options.momentum > 0, "nesterov",
          "expected a momentum above 0 to look ahead with");
  check_option("weight_decay", options.weight_decay, kNoLimit);
  require(!rate.defined() ||
              (rate.numel() == 1 && rate.scalar_type() == at::kFloat),
          "rate", "expected one float");
  return std::make_unique<Sgd>(options, mask, rate);
}

}  // namespace sotta
