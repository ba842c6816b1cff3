#include "models/named_network.h"

#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

const NetworkTask kTask = {3, 1, 8, 8};

TEST(NamedNetworks, SmallOnesRunOnTheirImages) {
  for (const char* name :
       {"resnet8", "resnet26_gn", "wide_resnet10_1", "vit_tiny"}) {
    const NamedNetwork network = named_network(name, kTask, 24);
    const auto model =
        network.make(network.random_state(Rng(1)), {{0.5}, {0.2}}, {});
    EXPECT_EQ(model
                  ->forward(at::rand({2, 1, 8, 8}), model->source(),
                            NormStats::running())
                  .logits.sizes(),
              at::IntArrayRef({2, 3}))
        << name;
  }
}

TEST(NamedNetworks, OtherWidthsKeepTheirRatio) {
  const NamedNetwork network = named_network("wide_resnet40_2", kTask, 4);
  const auto model =
      network.make(network.random_state(Rng(1)), {{0.5}, {0.2}}, {});
  EXPECT_EQ(model->norm_layers().back().channels, 16);
}

TEST(NamedNetworks, WidthsAndImagesThatCannotBeAreRefused) {
  const auto refused = [](const char* name, const NetworkTask& task,
                          int64_t width, const std::string& reason) {
    testing::expect_error(ErrorKind::kInvalid, reason,
                          [&] { named_network(name, task, width); });
  };
  refused("vit_tiny", kTask, 13, "width: expected a multiple of");
  refused("vit_tiny", {3, 1, 8, 12}, 0, "model: expected square images");
  refused("vit_tiny", {3, 1, 9, 9}, 0, "of a multiple of 4 pixels");
  refused("resnet18_gn", kTask, 16, "width: expected a multiple of");
  refused("resnet81", kTask, 0, "resnet8");
}

}  // namespace
}  // namespace sotta
