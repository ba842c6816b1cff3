#pragma once

#include <functional>
#include <memory>

#include <ATen/ops/zeros.h>

#include "sotta/adapt/method.h"

#include "tests/adapt/trace.h"

namespace sotta::testing {

// A method whose predictions and updates a test writes itself.
class ScriptedMethod : public Method {
 public:
  // What observe() predicts for all samples, and whether it admits them.
  int64_t label = 0;
  Verdict verdict = Verdict::kAdmitted;
  // What update() reports; its `value` below has been raised by one by then.
  UpdateReport report;
  at::Tensor value = at::zeros({1});
  // If set, changes the report of an update, given how many there were before.
  std::function<void(UpdateReport&, int64_t)> script;
  int64_t updates = 0;

  at::Tensor predict(const at::Tensor& images) const override {
    at::Tensor logits = at::zeros({images.size(0), 5});
    logits.select(1, label).fill_(3);
    return logits;
  }
  Observation observe(const at::Tensor& images, bool) override {
    Observation seen;
    seen.logits = predict(images);
    seen.prediction = classify(seen.logits);
    seen.verdicts.assign(static_cast<size_t>(images.size(0)), verdict);
    return seen;
  }
  UpdateReport update() override {
    value.add_(1);
    report.applied = true;
    if (script) script(report, updates);
    ++updates;
    return report;
  }
  void exchange(StateArchive& archive) override { archive("value", value); }
  ModelState state() const override { return golden_network()->source(); }
};

}  // namespace sotta::testing
