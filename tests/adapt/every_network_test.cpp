// All methods on all of our own networks (tests/golden/networks).
#include <set>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/models/weights.h"

#include "adapt/methods/frozen.h"
#include "nn/random_tensor.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

class EveryNetwork : public ::testing::TestWithParam<const char*> {
 protected:
  EveryNetwork()
      : golden_(std::string("networks/") + GetParam()),
        model_(make_classifier(golden_.file(), {}, GetParam())) {
    const std::string name = GetParam();
    const int64_t side = name.rfind("vit", 0) == 0 ? 16 : 13;
    Rng rng(5);
    images_ = random_uniform(rng, {24, 3, side, side});
  }

  std::unique_ptr<Adapter> adapter(const std::string& method) const {
    MethodContext context;
    context.model = model_;
    context.update_interval = 8;
    context.source_images = images_.slice(0, 0, 8);
    OptionMap changes;
    // It learns from a full memory alone.
    if (method == "screened_sotta") changes["memory_capacity"] = int64_t{8};
    // Random networks are sure of nothing.
    if (method == "sotta" || method == "screened_sotta")
      changes["min_confidence"] = 0.0;
    if (method == "sar" || method == "eata") changes["entropy_margin"] = 2.0;
    if (method == "eata") changes["redundancy_margin"] = 1.0;
    return make_adapter(method, context, Preset::kClean, changes);
  }
  at::Tensor window(int64_t index) const {
    return images_.slice(0, 8 * index, 8 * (index + 1));
  }
  bool has_batch_norm() const {
    return count_batch_norms(model_->norm_layers()) > 0;
  }

  testing::Golden golden_;
  std::shared_ptr<const Classifier> model_;
  at::Tensor images_;
};

TEST_P(EveryNetwork, IsAdaptedByEveryMethodThatFits) {
  const std::set<std::string> fixed = {"source", "bn_stats", "lame"};
  for (const std::string& method : method_names()) {
    SCOPED_TRACE(method);
    if (method == "bn_stats" && !has_batch_norm()) {
      EXPECT_THROW(adapter(method), Error);
      continue;
    }
    const auto adapting = adapter(method);
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_TRUE(
          adapting->step(window(i)).logits.isfinite().all().item<bool>());
    EXPECT_EQ(adapting->state().affine.equal(model_->source().affine),
              fixed.count(method) > 0);
  }
}

TEST_P(EveryNetwork, GoesOnFromASnapshotBitForBit) {
  for (const char* method : {"tent", "sar", "sotta", "rotta", "cotta"}) {
    SCOPED_TRACE(method);
    const auto first = adapter(method);
    for (int64_t i = 0; i < 2; ++i)
      first->step(window(i));
    const auto second = adapter(method);
    second->restore(first->snapshot());
    EXPECT_TRUE(
        first->step(window(2)).logits.equal(second->step(window(2)).logits));
    EXPECT_TRUE(first->state().affine.equal(second->state().affine));
  }
}

TEST_P(EveryNetwork, FreezesItsEndByDefault) {
  const at::Tensor mask = trainable_mask(*model_, "auto");
  ASSERT_TRUE(mask.defined());
  const auto& layers = model_->norm_layers();
  const auto is_frozen = [&](const NormLayer& layer) {
    return mask[2 * layer.offset].item<float>() == 0;
  };
  EXPECT_FALSE(is_frozen(layers.front()));
  EXPECT_TRUE(is_frozen(layers.back()));
  EXPECT_TRUE(is_frozen(layers[layers.size() - 2])) << "the last block";
}

INSTANTIATE_TEST_SUITE_P(All, EveryNetwork,
                         ::testing::Values("wide_resnet", "group_norm_resnet",
                                           "group_norm_bottlenecks",
                                           "vit_torchvision", "vit_timm"),
                         [](const auto& one) {
                           return std::string(one.param);
                         });

}  // namespace
}  // namespace sotta
