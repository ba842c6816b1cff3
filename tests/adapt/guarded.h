#pragma once

#include <memory>
#include <string>
#include <utility>

#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include "sotta/adapt/adapter.h"

#include "tests/adapt/scripted_method.h"

namespace sotta::testing {

// An adapter around a scripted method that the test keeps a hand on.
struct Guarded {
  explicit Guarded(const GuardOptions& options) {
    MethodContext context;
    context.model = testing::golden_network();
    context.update_interval = 2;
    auto owned = std::make_unique<ScriptedMethod>();
    method = owned.get();
    adapter = std::make_unique<Adapter>("scripted", std::move(owned), context,
                                        options);
  }

  StepResult window() { return adapter->step(at::rand({2, 3, 16, 16})); }
  double value() const { return method->value.item<double>(); }

  ScriptedMethod* method;
  std::unique_ptr<Adapter> adapter;
};

inline GuardOptions with_action(const std::string& action) {
  GuardOptions options;
  options.action = action;
  options.max_class_share = 1;
  options.history = 2;
  return options;
}

inline at::Tensor scalar(double value) {
  return at::tensor(value);
}

}  // namespace sotta::testing
