#include <gtest/gtest.h>

#include "sotta/models/weights.h"

#include "models/resnet.h"
#include "models/resnet_plan.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes shapes_of(const std::string& name) {
  Shapes shapes;
  const ResNetPlan plan(named_resnet(name, 10));
  for (const auto& tensor : plan.body)
    shapes[tensor.name] = tensor.shape;
  for (const auto& norm : plan.norms)
    shapes[norm.name + ".weight"] = {norm.channels};
  return shapes;
}

TEST(GroupNormResNet, IsKnownByTheRunningAveragesThatAreNotThere) {
  EXPECT_EQ(infer_resnet(shapes_of("resnet18_gn"), "x").groups, 32);
  EXPECT_EQ(infer_resnet(shapes_of("resnet26_gn"), "x", 8).groups, 8);
  Shapes with_averages = shapes_of("resnet18_gn");
  with_averages["bn1.running_mean"] = {64};
  EXPECT_EQ(infer_resnet(with_averages, "x").groups, 0);
}

TEST(GroupNormResNet, GroupsThatDoNotDivideAreRefused) {
  testing::expect_error(
      ErrorKind::kBadFormat,
      "x: its norm layers have no running averages, so they are group norm, "
      "and 32 groups (metadata groups, else 32) do not divide 16 channels",
      [] { infer_resnet(shapes_of("resnet26_gn"), "x"); });
  ResNetSpec spec = named_resnet("resnet26_gn", 10);
  const ModelState state = random_resnet_state(spec, Rng(1));
  spec.groups = 5;
  EXPECT_THROW(make_resnet(spec, state, {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}}),
               Error);
}

TEST(GroupNormResNet, HasNoRunningAveragesAndKeepsItsGroups) {
  const auto model = make_classifier(
      testing::Golden("networks/group_norm_resnet").file(), {}, "x");
  EXPECT_EQ(model->source().running_mean.numel(), 0);
  for (const auto& layer : model->norm_layers())
    EXPECT_EQ(layer.kind, NormKind::kGroup);
  const TensorFile file = export_weights(*model, model->source());
  EXPECT_EQ(file.metadata.at("groups"), "4");
  EXPECT_EQ(file.tensors.count("bn1.running_mean"), 0u);
}

TEST(GroupNormResNet, GroupsThatAreNoNumberAreRefused) {
  for (const char* groups : {"", "0", "four", "-4", "4.0"}) {
    TensorFile file = testing::Golden("networks/group_norm_resnet").file();
    file.metadata["groups"] = groups;
    testing::expect_error(ErrorKind::kBadFormat, "metadata groups",
                          [&] { make_classifier(file, {}, "x"); });
  }
}

}  // namespace
}  // namespace sotta
