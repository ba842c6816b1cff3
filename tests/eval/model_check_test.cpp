#include "eval/model_check.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include "sotta/models/weights.h"

#include "tests/support/golden.h"

namespace sotta {
namespace {

std::shared_ptr<const Classifier> golden_network() {
  return make_classifier(testing::Golden("methods/network").file(), {},
                         "network");
}

std::shared_ptr<const Classifier> torchscript(const std::string& name) {
  LoadOptions options;
  options.normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  return load_classifier(
      std::string(testing::golden_dir()) + "/torchscript/" + name + ".pt",
      options);
}

MethodFit fit_of(const std::shared_ptr<const Classifier>& model,
                 const std::string& method) {
  for (const MethodFit& fit : try_methods(model, at::rand({2, 3, 16, 16})))
    if (fit.name == method) return fit;
  return {};
}

TEST(ModelCheck, EveryMethodFitsANetworkWithBatchNorm) {
  const auto fits = try_methods(golden_network(), at::rand({2, 3, 16, 16}));
  EXPECT_EQ(fits.size(), 11u);
  for (const MethodFit& fit : fits) {
    EXPECT_TRUE(fit.fits) << fit.name << ": " << fit.note;
    EXPECT_EQ(fit.note.empty(), fit.name != "eata") << fit.note;
  }
}

TEST(ModelCheck, SaysWhyAMethodDoesNotFit) {
  const MethodFit fit = fit_of(torchscript("group_norm"), "bn_stats");
  EXPECT_FALSE(fit.fits);
  EXPECT_EQ(fit.note,
            "bn_stats: needs a network with batch norm layers, this one has "
            "none");
  EXPECT_TRUE(fit_of(torchscript("group_norm"), "sotta").fits);
}

TEST(ModelCheck, CountsKindsAndFrozenLayers) {
  const auto mixed = count_norm_kinds(*torchscript("mixed"));
  EXPECT_EQ(mixed, (std::map<std::string, int64_t>{
                       {"batch", 1}, {"group", 1}, {"layer", 1}}));
  const auto frozen = frozen_by_default(*golden_network());
  ASSERT_FALSE(frozen.empty());
  for (const std::string& name : frozen)
    EXPECT_EQ(name.rfind("layer4.", 0), 0u) << name;
}

TEST(ModelCheck, SidesThatCannotBeRunAreLeftOut) {
  const auto vit =
      make_classifier(testing::Golden("networks/vit_timm").file(), {}, "vit");
  EXPECT_EQ(sides_taken(*vit, {8, 16, 32}), (std::vector<int64_t>{16}));
  EXPECT_EQ(sides_taken(*golden_network(), {8, 16}),
            (std::vector<int64_t>{8, 16}));
}

TEST(ModelCheck, MomentsAreThoseOfNormalisedInputs) {
  const auto model = golden_network();
  const Normalisation& by = model->normalisation();
  const InputMoments flat = input_moments(*model, at::full({2, 3, 4, 4}, 0.75));
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(flat.mean[c], (0.75 - by.mean[c]) / by.std[c], 1e-6);
    EXPECT_NEAR(flat.std[c], 0, 1e-6);
  }
}

TEST(ModelCheck, ComplainsOfInputsFarFromZeroMeanAndUnitVariance) {
  EXPECT_EQ(complaint_about({{0.3, -0.5}, {0.9, 1.2}}), "");
  EXPECT_EQ(complaint_about({{1.0}, {0.4}}), "");
  EXPECT_NE(complaint_about({{1.1}, {1}}).find("mean 1.10"), std::string::npos);
  EXPECT_NE(complaint_about({{0}, {0.3}}), "");
  EXPECT_NE(complaint_about({{0}, {2.6}}), "");
  EXPECT_NE(complaint_about({{std::nan("")}, {1}}), "");
}

}  // namespace
}  // namespace sotta
