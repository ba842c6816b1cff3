#include "nn/flat_optimiser.h"

#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
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

void check_gradient(const at::Tensor& parameters, const at::Tensor& gradient) {
  check_shape("gradient", gradient, parameters);
  require(gradient.scalar_type() == parameters.scalar_type(), "gradient",
          "expected the parameters' element type");
}

// In place if there is a place: a CUDA graph may know it. Before the first
// step there is nothing, or zeros.
void overwrite(at::Tensor& mine, const at::Tensor& theirs) {
  if (!theirs.defined()) {
    if (mine.defined()) mine.zero_();
  } else if (mine.defined() && mine.sizes() == theirs.sizes()) {
    mine.copy_(theirs);
  } else {
    mine = theirs.detach().clone();
  }
}

}  // namespace

// A NaN is within no bounds.
void check_option(const std::string& name, double value, double high) {
  if (value >= 0 && value < high) return;
  std::ostringstream problem;
  problem << "expected a number from 0 to below " << high << ", got " << value;
  fail(ErrorKind::kInvalid, name, problem.str());
}

// Smaller ones are zero in a float, and a zero gradient would give 0/0.
void check_epsilon(double epsilon) {
  require(epsilon >= 1e-37, "epsilon", "expected at least 1e-37");
}

void check_rate(const at::Tensor& rate) {
  require(!rate.defined() ||
              (rate.numel() == 1 && rate.scalar_type() == at::kFloat),
          "rate", "expected one float");
}

FlatOptimiser::FlatOptimiser(const std::vector<std::string>& names,
                             double weight_decay, const at::Tensor& mask)
    : weight_decay_(weight_decay) {
  for (const auto& name : names)
    state_.tensors[name] = at::Tensor();
  if (mask.defined()) frozen_ = mask == 0;
}

void FlatOptimiser::step(const at::Tensor& parameters,
                         const at::Tensor& gradient) {
  check_gradient(parameters, gradient);
  begin_step(parameters, /*captured=*/false);
  take_step(parameters, gradient);
}

void FlatOptimiser::begin_step(const at::Tensor& parameters, bool captured) {
  if (frozen_.defined()) check_shape("mask", frozen_, parameters);
  for (auto& [name, tensor] : state_.tensors) {
    if (state_.steps > 0) check_shape(name, tensor, parameters);
    if (!tensor.defined() || tensor.sizes() != parameters.sizes())
      tensor = at::zeros_like(parameters);
  }
  ++state_.steps;
  prepare(parameters, captured);
}

void FlatOptimiser::take_step(const at::Tensor& parameters,
                              const at::Tensor& gradient) {
  check_gradient(parameters, gradient);
  const at::NoGradGuard no_grad;
  apply(parameters, effective(gradient.detach(), parameters));
}

Optimiser::State FlatOptimiser::state() const {
  State result = state_;
  for (auto& [name, tensor] : result.tensors)
    tensor = state_.steps > 0 ? tensor.clone() : at::Tensor();
  return result;
}

void FlatOptimiser::set_state(const State& state) {
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

// A frozen parameter's gradient is zero; so are its moments then, and adding
// nothing to a float leaves its bits as they are.
at::Tensor FlatOptimiser::effective(const at::Tensor& gradient,
                                    const at::Tensor& parameters) const {
  at::Tensor result = gradient;
  if (weight_decay_ != 0) result = result.add(parameters, weight_decay_);
  if (frozen_.defined()) result = result.masked_fill(frozen_, 0);
  return result;
}

}  // namespace sotta
