#include "sotta/nn/optimiser.h"

#include <cmath>
#include <functional>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "nn/adamw.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

using Make = std::function<std::unique_ptr<Optimiser>(at::Tensor mask)>;

struct Kind {
  const char* name;
  Make make;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

const Kind kKinds[] = {
    {"adam", [](at::Tensor mask) { return make_adam({1e-3}, mask); }},
    {"adam_decay",
     [](at::Tensor mask) {
       return make_adam({1e-3, 5e-4}, mask);
     }},
    {"adamw",
     [](at::Tensor mask) {
       return make_adamw({1e-3, 0.05}, mask);
     }},
    {"adamw",
     [](at::Tensor mask) {
       return make_adamw({0, 0.05}, mask, {}, at::tensor({1e-3f}));
     }},
    {"sgd", [](at::Tensor mask) { return make_sgd({5e-3}, mask); }},
    {"sgd_momentum",
     [](at::Tensor mask) {
       return make_sgd({5e-3, 0.9}, mask);
     }},
    {"sgd_momentum_decay",
     [](at::Tensor mask) {
       return make_sgd({5e-3, 0.9, 5e-4}, mask);
     }},
    {"sgd_nesterov_decay",
     [](at::Tensor mask) {
       return make_sgd({5e-3, 0.9, 5e-4, true}, mask);
     }},
    {"sgd_momentum",
     [](at::Tensor mask) {
       return make_sgd({0, 0.9}, mask, at::tensor({5e-3f}));
     }},
};

at::Tensor waves(int64_t count, double frequency) {
  return at::sin(at::arange(count, at::kFloat) * frequency);
}

TEST(Adam, FirstStepIsTheRateTimesTheSign) {
  const at::Tensor parameters = at::zeros({3});
  make_adam({0.01})->step(parameters, at::tensor({5.0f, -0.001f, 0.0f}));
  EXPECT_TRUE(
      testing::close(parameters, at::tensor({-0.01f, 0.01f, 0.0f}), 1e-6));
}

TEST(Adam, SecondStepByHand) {
  const auto optimiser = make_adam({0.1, 0, 0.5, 0.75});
  const at::Tensor parameters = at::zeros({1});
  optimiser->step(parameters, at::tensor({1.0f}));  // to -0.1
  optimiser->step(parameters, at::tensor({-2.0f}));
  // Mean gradient: (0.5*0.5 - 0.5*2) / (1 - 0.5^2) = -1; mean square:
  // (0.75*0.25 + 0.25*4) / (1 - 0.75^2) = 1.1875/0.4375.
  EXPECT_NEAR(parameters.item<double>(),
              -0.1 + 0.1 / std::sqrt(1.1875 / 0.4375), 1e-6);
}

TEST(Adam, WeightDecayIsPartOfTheGradient) {
  // Without a gradient the decay alone decides the sign of a full step.
  const at::Tensor parameters = at::tensor({2.0f, -3.0f});
  make_adam({0.01, 0.1})->step(parameters, at::zeros({2}));
  EXPECT_TRUE(testing::close(parameters, at::tensor({1.99f, -2.99f})));
}

TEST(Sgd, MomentumByHand) {
  const auto optimiser = make_sgd({0.1, 0.5});
  const at::Tensor parameters = at::zeros({1});
  optimiser->step(parameters, at::tensor({2.0f}));  // buffer 2
  optimiser->step(parameters, at::tensor({1.0f}));  // buffer 0.5*2 + 1
  EXPECT_NEAR(parameters.item<double>(), -0.1 * (2 + 2), 1e-7);
}

TEST(Sgd, WeightDecayByHand) {
  const at::Tensor parameters = at::tensor({2.0f});
  make_sgd({0.1, 0, 0.5})->step(parameters, at::tensor({3.0f}));
  EXPECT_NEAR(parameters.item<double>(), 2 - 0.1 * (3 + 0.5 * 2), 1e-7);
}

TEST(Sgd, NesterovByHand) {
  const auto optimiser = make_sgd({0.1, 0.5, 0, true});
  const at::Tensor parameters = at::zeros({1});
  optimiser->step(parameters, at::tensor({2.0f}));  // buffer 2, goes 2 + 0.5*2
  optimiser->step(parameters, at::tensor({1.0f}));  // buffer 2, goes 1 + 0.5*2
  EXPECT_NEAR(parameters.item<double>(), -0.1 * (3 + 2), 1e-7);
}

TEST(Sgd, RateInATensorIsReadAtEachStep) {
  const at::Tensor rate = at::tensor({0.1f});
  const auto optimiser = make_sgd({}, {}, rate);
  const at::Tensor parameters = at::zeros({2});
  optimiser->step(parameters, at::tensor({1.0f, 2.0f}));
  rate.fill_(0.01);
  optimiser->step(parameters, at::tensor({1.0f, 2.0f}));
  EXPECT_TRUE(testing::close(parameters, at::tensor({-0.11f, -0.22f})));
  testing::expect_error(ErrorKind::kInvalid, "rate: expected one float",
                        [] { make_sgd({}, {}, at::zeros({2})); });
}

TEST(Optimiser, OptionsOutOfRangeAreNamed) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  using testing::expect_error;
  const auto invalid = ErrorKind::kInvalid;
  expect_error(invalid, "learning_rate", [] { make_adam({-1}); });
  expect_error(invalid, "learning_rate", [nan] { make_sgd({nan}); });
  expect_error(invalid, "beta1", [] { make_adam({1e-3, 0, 1}); });
  expect_error(invalid, "beta2", [] { make_adam({1e-3, 0, 0.9, -0.1}); });
  expect_error(invalid, "epsilon", [] { make_adam({1e-3, 0, 0.9, 0.999, 0}); });
  expect_error(invalid, "momentum", [] { make_sgd({1e-3, 1}); });
  expect_error(invalid, "weight_decay", [] { make_sgd({1e-3, 0, -1}); });
  expect_error(invalid, "nesterov", [] { make_sgd({1e-3, 0, 0, true}); });
}

class EveryOptimiser : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, EveryOptimiser, ::testing::ValuesIn(kKinds));

// To the last bit or two: gradients of 0 and of Adam's epsilon's size included.
TEST_P(EveryOptimiser, EqualsPyTorch) {
  const testing::Golden golden("nn/optimisers");
  const auto optimiser = GetParam().make({});
  const at::Tensor parameters = golden["start"];
  for (int64_t step = 0; step < 3; ++step) {
    optimiser->step(parameters, golden["gradients"][step]);
    const std::string name = std::string(GetParam().name) + ".after";
    EXPECT_TRUE(testing::close(parameters, golden[name][step], 0, 1e-7));
  }
}

TEST_P(EveryOptimiser, FrozenParametersKeepTheirBits) {
  const at::Tensor start = waves(1000, 0.7);
  start[0] = -0.0;
  start[2] = 1e-40;
  const at::Tensor mask = at::arange(1000).remainder(2);
  const at::Tensor frozen = mask == 0;
  const at::Tensor parameters = start.clone(), free = start.clone();
  const auto masked = GetParam().make(mask), unmasked = GetParam().make({});

  for (int step = 0; step < 3; ++step) {
    const at::Tensor gradient = waves(1000, 0.3 + step);
    unmasked->step(free, gradient);
    gradient[4] = std::numeric_limits<float>::quiet_NaN();  // frozen
    masked->step(parameters, gradient);
  }

  const auto bits = [](const at::Tensor& values) {
    return values.view(at::kInt);
  };
  EXPECT_TRUE(bits(parameters.masked_select(frozen))
                  .equal(bits(start.masked_select(frozen))));
  const at::Tensor trained = frozen.logical_not();
  EXPECT_TRUE(
      parameters.masked_select(trained).equal(free.masked_select(trained)));
}

TEST_P(EveryOptimiser, ContinuesFromASavedState) {
  const at::Tensor parameters = waves(50, 0.7);
  const auto original = GetParam().make({});
  original->step(parameters, waves(50, 0.3));
  const Optimiser::State saved = original->state();
  const at::Tensor copy = parameters.clone();
  original->step(parameters, waves(50, 0.4));

  const auto continued = GetParam().make({});
  continued->set_state(saved);
  continued->step(copy, waves(50, 0.4));

  EXPECT_EQ(saved.steps, 1);
  EXPECT_EQ(continued->state().steps, 2);
  EXPECT_TRUE(copy.equal(parameters));
}

TEST_P(EveryOptimiser, CapturableHalvesMakeTheSameStep) {
  const auto whole = GetParam().make({}), halves = GetParam().make({});
  const at::Tensor expected = waves(50, 0.7), found = expected.clone();
  for (int step = 0; step < 4; ++step) {
    const at::Tensor gradient = waves(50, 0.3 + step);
    whole->step(expected, gradient);
    halves->begin_step(found, /*captured=*/true);
    halves->take_step(found, gradient);
    EXPECT_TRUE(testing::close(found, expected, 1e-7, 1e-6));
  }
  EXPECT_EQ(halves->state().steps, 4);
}

TEST_P(EveryOptimiser, AnEmptyStateForgetsEverything) {
  const auto optimiser = GetParam().make({});
  const at::Tensor gradient = waves(50, 0.3);
  optimiser->step(waves(50, 0.5), gradient);

  optimiser->set_state({});

  const Optimiser::State state = optimiser->state();
  EXPECT_EQ(state.steps, 0);
  for (const auto& [name, tensor] : state.tensors)
    EXPECT_FALSE(tensor.defined()) << name;
  const at::Tensor parameters = waves(50, 0.7), expected = parameters.clone();
  optimiser->step(parameters, gradient);
  GetParam().make({})->step(expected, gradient);
  EXPECT_TRUE(parameters.equal(expected));
}

TEST_P(EveryOptimiser, StateBeforeTheFirstStepCanBeSet) {
  const auto optimiser = GetParam().make({});
  optimiser->step(waves(50, 0.5), waves(50, 0.3));
  optimiser->set_state(GetParam().make({})->state());
  EXPECT_EQ(optimiser->state().steps, 0);
}

TEST_P(EveryOptimiser, ForeignStatesAreRefused) {
  const auto optimiser = GetParam().make({});
  Optimiser::State foreign;
  foreign.tensors["velocity"] = at::zeros({3});
  foreign.steps = 1;
  testing::expect_error(ErrorKind::kInvalid, "velocity",
                        [&] { optimiser->set_state(foreign); });
  EXPECT_EQ(optimiser->state().steps, 0);
}

TEST_P(EveryOptimiser, ShapesMustAgree) {
  const auto optimiser = GetParam().make(at::ones({4}));
  testing::expect_error(ErrorKind::kInvalid, "gradient", [&] {
    optimiser->step(at::zeros({4}), at::zeros({1}));
  });
  testing::expect_error(ErrorKind::kInvalid, "mask", [&] {
    optimiser->step(at::zeros({3}), at::zeros({3}));
  });
}

TEST_P(EveryOptimiser, ElementTypesMustAgree) {
  const auto optimiser = GetParam().make({});
  testing::expect_error(ErrorKind::kInvalid, "element type", [&] {
    optimiser->step(at::zeros({4}), at::zeros({4}, at::kDouble));
  });
  EXPECT_EQ(optimiser->state().steps, 0);
}

TEST_P(EveryOptimiser, LeavesNoTraceInAutograd) {
  const at::Tensor leaf = waves(5, 0.7).requires_grad_();
  GetParam().make({})->step(leaf, waves(5, 0.3).requires_grad_());
  EXPECT_TRUE(leaf.is_leaf());
}

TEST_P(EveryOptimiser, SameBitsAtAnyThreadCount) {
  testing::expect_same_bits_at_any_thread_count([] {
    const at::Tensor parameters = waves(70003, 0.7);
    const auto optimiser = GetParam().make({});
    for (int step = 0; step < 3; ++step)
      optimiser->step(parameters, waves(70003, 0.3 + step));
    return parameters;
  });
}

}  // namespace
}  // namespace sotta
