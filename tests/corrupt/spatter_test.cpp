#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(Spatter, MatchesThePublishedScript) {
  testing::expect_reference(
      "spatter", 9, 0,
      [](testing::ReferenceDraws& source, const KindSetting&,
         std::vector<double>& values) {
        for (double& value : values)
          value = source.normal();
      });
}

TEST(Spatter, WithoutDropsTheImageStays) {
  for (const int64_t severity : {1, 5}) {
    KindSetting setting;
    setting.severity = severity;
    const auto kind = make_spatter(setting);
    const at::Tensor grey = at::full({2, 3, 32, 32}, 100, at::kByte);

    const at::Tensor found =
        kind->apply(grey, {at::full({2, 32, 32}, -9, at::kDouble)});

    EXPECT_TRUE(found.equal(grey)) << "severity " << severity;
  }
}

TEST(Spatter, MudEverywhereIsBrown) {
  KindSetting setting;
  const auto kind = make_spatter(setting);
  const at::Tensor white = at::full({1, 3, 32, 32}, 255, at::kByte);

  const at::Tensor found =
      kind->apply(white, {at::full({1, 32, 32}, 9, at::kDouble)})[0];

  for (int64_t c = 0; c < 3; ++c)
    EXPECT_NEAR(found[c][5][7].item<int>(), (std::array{63, 42, 20})[c], 1);
}

}  // namespace
}  // namespace sotta
