#include "sotta/nn/optimiser.h"

#include <cmath>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/empty.h>

#include "sotta/core/error.h"

#include "nn/flat_optimiser.h"

namespace sotta {
namespace {

constexpr double kNoLimit = HUGE_VAL;

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
  check_epsilon(options.epsilon);
  return std::make_unique<Adam>(options, mask);
}

std::unique_ptr<Optimiser> make_sgd(const SgdOptions& options, at::Tensor mask,
                                    at::Tensor rate) {
  check_option("learning_rate", options.learning_rate, kNoLimit);
  check_option("momentum", options.momentum, 1);
  require(!options.nesterov || options.momentum > 0, "nesterov",
          "expected a momentum above 0 to look ahead with");
  check_option("weight_decay", options.weight_decay, kNoLimit);
  check_rate(rate);
  return std::make_unique<Sgd>(options, mask, rate);
}

}  // namespace sotta
