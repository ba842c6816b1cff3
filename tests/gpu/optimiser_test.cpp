#include "sotta/nn/optimiser.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "gpu/cuda_graph.h"
#include "nn/adamw.h"
#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

class GpuAdam : public testing::OnGpu,
                public ::testing::WithParamInterface<bool> {
 protected:
  static std::unique_ptr<Optimiser> make() {
    return GetParam() ? make_adamw({}) : make_adam({});
  }
};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutDecoupledDecay, GpuAdam,
                         ::testing::Bool());

at::Tensor waves(double phase, at::Device device) {
  return at::arange(50, device).mul(0.37).add(phase).sin();
}

TEST_P(GpuAdam, KnowsItsStepInARecording) {
  const auto whole = make(), captured = make();
  const at::Tensor expected = waves(0.7, gpu), found = expected.clone();
  const at::Tensor gradient = waves(0, gpu);
  CudaGraph step([&] { captured->take_step(found, gradient); }, gpu,
                 /*capture=*/true, /*warm_up_runs=*/1);
  const auto take_both = [&](double phase) {
    gradient.copy_(waves(phase, gpu));
    whole->step(expected, gradient);
    captured->begin_step(found, /*captured=*/true);
    step.run();
    EXPECT_TRUE(testing::close(found.cpu(), expected.cpu(), 1e-6, 1e-5));
  };
  for (int i = 0; i < 3; ++i)
    take_both(0.3 + i);

  // Put back, it counts on from there.
  const Optimiser::State early = captured->state();
  for (int i = 0; i < 3; ++i)
    take_both(1.3 + i);
  captured->set_state(early);
  whole->set_state(early);
  for (int i = 0; i < 3; ++i)
    take_both(2.3 + i);
  EXPECT_EQ(captured->state().steps, 6);
}

}  // namespace
}  // namespace sotta
