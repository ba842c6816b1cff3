#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/models/weights.h"

#include "tests/support/golden.h"

namespace sotta::testing {

// The tiny network and stream that every golden trace was made with.
inline std::shared_ptr<const Classifier> golden_network() {
  return make_classifier(Golden("methods/network").file(), {}, "network");
}

inline at::Tensor golden_stream() {
  return Golden("methods/stream")["images"];
}

// A golden trace: what an independent PyTorch implementation did on that
// stream.
class Trace {
 public:
  explicit Trace(const std::string& name);

  MethodContext context() const;

  // The options of the method itself; `left_out` are names it does not have.
  OptionMap options(const std::vector<std::string>& left_out = {}) const;

  // An option as text, for those that are not the method's own.
  std::string text(const std::string& option) const {
    return std::get<std::string>(options_.at(option));
  }

  at::Tensor window(int64_t index) const {
    return golden_stream().slice(0, 16 * index, 16 * (index + 1));
  }

  bool has(const std::string& name) const { return golden_.has(name); }
  at::Tensor at(const std::string& name, int64_t window) const {
    return golden_[name][window];
  }
  const Golden& golden() const { return golden_; }

  // Compares with a tolerance of 1e-5 plus ten times what the reference itself
  // differs from its own run in double precision.
  ::testing::AssertionResult matches(const std::string& name, int64_t window,
                                     const at::Tensor& found) const;

 private:
  Golden golden_;
  OptionMap options_;
  std::map<std::string, double> deviations_;
};

// Has recurring work take the way of CUDA graphs. On the CPU the results are
// the same.
inline std::shared_ptr<const Executor> capturing_executor(
    const MethodContext& context) {
  return std::make_shared<Executor>(context.model,
                                    ExecutorOptions{/*cuda_graphs=*/true});
}

// Goes on with another adapter that `make` gives: all that counts has to be in
// the snapshot.
template <class Make>
void go_on_with_a_fresh_one(std::unique_ptr<Adapter>& adapter,
                            const Make& make) {
  std::unique_ptr<Adapter> fresh = make();
  fresh->restore(adapter->snapshot());
  EXPECT_EQ(fresh->samples(), adapter->samples());
  EXPECT_EQ(fresh->updates(), adapter->updates());
  EXPECT_EQ(fresh->pending(), adapter->pending());
  EXPECT_EQ(fresh->memory_samples(), adapter->memory_samples());
  adapter = std::move(fresh);
}

// After these windows of a golden trace.
inline bool is_time_for_a_fresh_one(int64_t window) {
  return window % 3 == 2;
}

inline std::vector<uint8_t> admitted(const std::vector<Verdict>& verdicts) {
  std::vector<uint8_t> flags;
  for (const Verdict verdict : verdicts)
    flags.push_back(verdict == Verdict::kAdmitted ? 1 : 0);
  return flags;
}

inline std::vector<uint8_t> bytes_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  const auto* begin = plain.data_ptr<uint8_t>();
  return {begin, begin + plain.numel()};
}

// The stream places of what the memory holds, in batch order.
inline std::vector<int64_t> expected_samples(const Trace& trace,
                                             int64_t window) {
  const at::Tensor stored = trace.at("memory", window).contiguous();
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < stored.numel(); ++i)
    if (stored[i].item<int64_t>() >= 0)
      samples.push_back(stored[i].item<int64_t>());
  return samples;
}

// A scalar of an update, or NaN if it has none.
inline double number(const at::Tensor& scalar) {
  return scalar.defined() ? scalar.item<double>()
                          : std::numeric_limits<double>::quiet_NaN();
}

// Compares a scalar of an update; NaN in the trace means there was none.
inline void expect_number(const Trace& trace, const std::string& name,
                          int64_t window, const at::Tensor& found) {
  if (!trace.has(name)) return;
  const auto expected = trace.at(name, window).item<double>();
  if (std::isnan(expected)) return;
  EXPECT_NEAR(number(found), expected, 1e-5 + 1e-4 * std::abs(expected))
      << name << " of window " << window;
}

// What a step says: predictions, admissions and the numbers of the update.
inline void expect_result(const Trace& trace, int64_t window,
                          const StepResult& result) {
  EXPECT_TRUE(trace.matches("logits", window, result.logits));
  EXPECT_EQ(admitted(result.verdicts), bytes_of(trace.at("admitted", window)))
      << "window " << window;
  ASSERT_EQ(result.updates.size(), 1u);
  const UpdateReport& update = result.updates[0];
  expect_number(trace, "loss", window, update.loss);
  expect_number(trace, "grad_norm", window, update.gradient_norm);
  expect_number(trace, "perturbed_loss", window, update.perturbed_loss);
  expect_number(trace, "perturbation_norm", window, update.perturbation_norm);
}

// The same, and parameters and statistics after the window, for methods with
// one network.
inline void expect_window(const Trace& trace, int64_t window,
                          const Adapter& adapter, const StepResult& result) {
  expect_result(trace, window, result);
  const ModelState state = adapter.state();
  if (trace.has("affine")) {
    EXPECT_TRUE(trace.matches("affine", window, state.affine));
  }
  if (trace.has("running_mean")) {
    EXPECT_TRUE(trace.matches("running_mean", window, state.running_mean));
    EXPECT_TRUE(trace.matches("running_var", window, state.running_var));
  }
}

}  // namespace sotta::testing
