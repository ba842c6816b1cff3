#include "gpu/captured_function.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// On the CPU nothing is captured; how inputs and outputs are handed over can be
// seen there all the same. tests/gpu has the rest.
class CapturedCalls : public ::testing::Test {
 protected:
  // A running sum of all inputs, beside twice the input.
  CapturedFunction calls{[this](const std::vector<at::Tensor>& inputs) {
                           const at::Tensor& input = inputs[0];
                           places.push_back(input.data_ptr());
                           total.add_(input.sum());
                           return std::vector<at::Tensor>{input * 2, total};
                         },
                         /*capture=*/true};
  at::Tensor total = at::zeros({});
  std::vector<void*> places;
};

TEST_F(CapturedCalls, GiveWhatTheFunctionGives) {
  double expected = 0;
  for (int i = 1; i <= 8; ++i) {
    const auto results = calls({at::full({2, 2}, i)});
    expected += 4 * i;
    EXPECT_TRUE(results[0].equal(at::full({2, 2}, 2 * i)));
    EXPECT_EQ(results[1].item<double>(), expected);
  }
}

TEST_F(CapturedCalls, ReadOnePlaceOnceAShapeStays) {
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(at::full({3}, i));
    calls({inputs.back()});
  }
  EXPECT_EQ(places[0], inputs[0].data_ptr());
  EXPECT_NE(places[1], inputs[1].data_ptr());
  for (size_t i = 2; i < places.size(); ++i)
    EXPECT_EQ(places[i], places[1]);
}

TEST_F(CapturedCalls, OtherShapesAndTypesAreCalledAsTheyAre) {
  for (int i = 0; i < 5; ++i)
    calls({at::full({3}, i)});
  const at::Tensor longer = at::full({4}, 1), bytes = longer.to(at::kByte);
  EXPECT_EQ(calls({longer})[0].numel(), 4);
  EXPECT_EQ(calls({bytes})[0].scalar_type(), at::kByte);
  EXPECT_EQ(places[5], longer.data_ptr());
  EXPECT_EQ(places[6], bytes.data_ptr());
}

TEST_F(CapturedCalls, ResultsStayAsTheyAre) {
  for (int i = 0; i < 3; ++i)
    calls({at::full({1}, i)});
  std::vector<at::Tensor> totals;
  for (int i = 3; i < 6; ++i)
    totals.push_back(calls({at::full({1}, i)})[1]);
  EXPECT_EQ(totals[0].item<double>(), 0 + 1 + 2 + 3);
  EXPECT_EQ(totals[1].item<double>(), 0 + 1 + 2 + 3 + 4);
  EXPECT_EQ(totals[2].item<double>(), 0 + 1 + 2 + 3 + 4 + 5);
}

TEST_F(CapturedCalls, TwoShapesHaveAPlaceEachAndAThirdHasNone) {
  const auto call_twice = [&](int64_t length, double value) {
    const at::Tensor first = at::full({length}, value);
    const at::Tensor second = at::full({length}, value + 1);
    calls({first});
    const auto results = calls({second});
    EXPECT_TRUE(results[0].equal(second * 2)) << length;
    return places.back() == second.data_ptr();
  };
  EXPECT_FALSE(call_twice(3, 1));
  EXPECT_FALSE(call_twice(4, 5));
  EXPECT_TRUE(call_twice(5, 9));

  EXPECT_FALSE(call_twice(3, 13));
  const void* const of_three = places.back();
  EXPECT_FALSE(call_twice(4, 17));
  EXPECT_NE(places.back(), of_three);
}

TEST_F(CapturedCalls, AShapeIsCapturedOnlyWhenItComesTwiceInARow) {
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(at::full({3 + i % 2}, i));
    calls({inputs.back()});
    EXPECT_EQ(places.back(), inputs.back().data_ptr()) << i;
  }
}

// The second one counts: its place, its shape and its type.
TEST(CapturedFunction, TakesSeveralTensorsOfShapesOfTheirOwn) {
  std::vector<void*> places;
  CapturedFunction calls(
      [&](const std::vector<at::Tensor>& inputs) {
        places.push_back(inputs[1].data_ptr());
        return std::vector<at::Tensor>{inputs[0].sum() - inputs[1].sum()};
      },
      /*capture=*/true);
  const at::Tensor first = at::full({2, 2}, 5);
  const auto reads_in_place = [&](const at::Tensor& second) {
    const auto results = calls({first, second});
    EXPECT_EQ(results[0].item<double>(), 20 - second.sum().item<double>());
    return places.back() == second.data_ptr();
  };
  EXPECT_TRUE(reads_in_place(at::full({3}, 1)));
  EXPECT_FALSE(reads_in_place(at::full({3}, 2)));
  EXPECT_TRUE(reads_in_place(at::full({4}, 3)));
  EXPECT_TRUE(reads_in_place(at::full({3}, 4, at::kInt)));
  EXPECT_FALSE(reads_in_place(at::full({3}, 5)));
}

TEST(CapturedFunction, WithoutCaptureIsTheFunction) {
  std::vector<void*> places;
  CapturedFunction calls(
      [&](const std::vector<at::Tensor>& inputs) {
        places.push_back(inputs[0].data_ptr());
        return inputs;
      },
      /*capture=*/false);
  for (int i = 0; i < 4; ++i) {
    const at::Tensor input = at::full({3}, i);
    EXPECT_TRUE(calls({input})[0].is_same(input));
    EXPECT_EQ(places.back(), input.data_ptr());
  }
}

}  // namespace
}  // namespace sotta
