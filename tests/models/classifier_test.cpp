#include "sotta/models/classifier.h"

#include <thread>

#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "models/resnet.h"

namespace sotta {
namespace {

// The promise of classifier.h; `tsan` is the preset that can show it broken.
TEST(Classifier, RunsInSeveralThreadsAtOnce) {
  ResNetSpec spec;
  spec.widths = {4, 6};
  spec.blocks = {1, 1};
  const auto model = make_resnet(spec, random_resnet_state(spec, Rng(1)),
                                 {{0.5, 0.4, 0.3}, {0.2, 0.2, 0.2}});
  const at::Tensor images =
      at::randint(256, {4, 3, 16, 16}, at::TensorOptions(at::kByte));
  const auto alone =
      model->forward(images, model->source(), NormStats::batch());

  std::vector<at::Tensor> logits(4);
  std::vector<std::thread> threads;
  for (at::Tensor& mine : logits)
    threads.emplace_back([&model, &images, &mine] {
      for (int i = 0; i < 5; ++i)
        mine =
            model->forward(images, model->source(), NormStats::batch()).logits;
    });
  for (std::thread& thread : threads)
    thread.join();

  for (const at::Tensor& result : logits)
    EXPECT_TRUE(at::equal(result, alone.logits));
}

}  // namespace
}  // namespace sotta
