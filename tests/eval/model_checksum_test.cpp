#include "eval/model_checksum.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

ModelState ones_state() {
  return {at::ones({5}), at::ones({4}), at::ones({2}), at::ones({2})};
}

TEST(ModelChecksum, DependsOnEveryNumber) {
  const std::string before = model_checksum(ones_state());
  EXPECT_EQ(before.size(), 16u);
  EXPECT_EQ(model_checksum(ones_state()), before);
  for (at::Tensor ModelState::*part :
       {&ModelState::body, &ModelState::affine, &ModelState::running_mean,
        &ModelState::running_var}) {
    ModelState state = ones_state();
    (state.*part)[1].fill_(1.0000001);
    EXPECT_NE(model_checksum(state), before);
  }
}

}  // namespace
}  // namespace sotta
