#include "nn/adamw.h"

#include <cmath>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include "sotta/core/error.h"

#include "nn/flat_optimiser.h"

namespace sotta {
namespace {

// What changes from step to step lies in tensors on the parameters' device, so
// that a captured step reads the numbers of the step it stands for.
class AdamW final : public FlatOptimiser {
 public:
  AdamW(const AdamWOptions& options, const at::Tensor& mask,
        const at::Tensor& decayed, at::Tensor rate)
      : FlatOptimiser({"first_moment", "second_moment"}, /*weight_decay=*/0,
                      mask),
        options_(options),
        rate_(std::move(rate)) {
    if (options_.weight_decay == 0) return;
    if (decayed.defined())
      decay_ = decayed.to(at::kFloat) * options_.weight_decay;
    if (!mask.defined()) return;
    const at::Tensor free = mask.ne(0).to(at::kFloat);
    decay_ = decay_.defined() ? decay_ * free : free * options_.weight_decay;
  }

 private:
  void prepare(const at::Tensor& parameters, bool /*captured*/) override {
    if (!correction_.defined()) fill_constants(parameters);
    require(decay_.numel() == 1 || decay_.sizes() == parameters.sizes(),
            "decayed", "expected the parameters' shape");
    const auto step = static_cast<double>(steps());
    correction_.fill_(1 / (1 - std::pow(options_.beta1, step)));
    root_.fill_(std::sqrt(1 - std::pow(options_.beta2, step)));
  }

  void fill_constants(const at::Tensor& parameters) {
    const auto floats =
        at::TensorOptions(at::kFloat).device(parameters.device());
    correction_ = at::empty({1}, floats);
    root_ = at::empty({1}, floats);
    if (!rate_.defined()) rate_ = at::full({1}, options_.learning_rate, floats);
    if (!decay_.defined())
      decay_ = at::full({1}, options_.weight_decay, floats);
  }

  void apply(const at::Tensor& parameters,
             const at::Tensor& gradient) override {
    const double beta1 = options_.beta1, beta2 = options_.beta2;
    const at::Tensor& first = tensor("first_moment");
    const at::Tensor& second = tensor("second_moment");
    if (options_.weight_decay != 0) parameters.mul_(1 - decay_ * rate_);
    first.mul_(beta1).add_(gradient, 1 - beta1);
    second.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
    parameters.addcdiv_(first * (rate_ * correction_),
                        second.sqrt().div_(root_).add_(options_.epsilon), -1);
  }

  AdamWOptions options_;
  at::Tensor rate_;
  at::Tensor decay_;              // of each parameter, or of all
  at::Tensor correction_, root_;  // of this step: what moments began with
};

}  // namespace

std::unique_ptr<Optimiser> make_adamw(const AdamWOptions& options,
                                      at::Tensor mask, at::Tensor decayed,
                                      at::Tensor rate) {
  check_option("learning_rate", options.learning_rate, HUGE_VAL);
  check_option("beta1", options.beta1, 1);
  check_option("beta2", options.beta2, 1);
  check_option("weight_decay", options.weight_decay, HUGE_VAL);
  check_epsilon(options.epsilon);
  check_rate(rate);
  return std::make_unique<AdamW>(options, mask, decayed, std::move(rate));
}

}  // namespace sotta
