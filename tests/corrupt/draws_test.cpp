#include "corrupt/filters/draws.h"

#include <functional>
#include <map>

#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include "sotta/corrupt/corruption.h"

#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

// Draws a scalar and a field; applies nothing.
class TwoFields : public CorruptionKind {
 public:
  std::vector<std::vector<int64_t>> fields() const override {
    return {{}, {2, 3}};
  }
  void draw(Rng& rng, double* values) const override {
    for (int i = 0; i < 7; ++i)
      values[i] = rng.uniform();
  }
  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    return images;
  }
};

TEST(Draws, HaveOneRowPerImageAndTheFieldsShapes) {
  const Draws draws =
      draw_for_images(TwoFields(), Rng(1), {4, 9, 2, 7}, at::kCPU);

  ASSERT_EQ(draws.size(), 2u);
  EXPECT_EQ(draws[0].sizes(), (at::IntArrayRef{4}));
  EXPECT_EQ(draws[1].sizes(), (at::IntArrayRef{4, 2, 3}));
}

TEST(Draws, DependOnTheImagesIndexAlone) {
  const Draws all = draw_for_images(TwoFields(), Rng(1), {4, 9, 2}, at::kCPU);
  const Draws one = draw_for_images(TwoFields(), Rng(1), {9}, at::kCPU);

  EXPECT_TRUE(all[1][1].equal(one[1][0]));
  EXPECT_FALSE(all[1][0].equal(one[1][0]));
  Rng stream = Rng(1).child(uint64_t{9});
  EXPECT_EQ(one[0][0].item<double>(), stream.uniform());
}

TEST(Draws, DoNotDependOnTheNumberOfThreads) {
  std::vector<int64_t> indices(100);
  for (int64_t i = 0; i < 100; ++i)
    indices[static_cast<size_t>(i)] = i;
  testing::expect_same_bits_at_any_thread_count([&] {
    return draw_for_images(TwoFields(), Rng(3), indices, at::kCPU)[1];
  });
}

using Numbers = std::vector<double>;

Numbers normals(Rng& rng, int64_t count) {
  Numbers values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(rng.normal());
  return values;
}

Numbers uniforms(Rng& rng, int64_t count, double low, double high) {
  Numbers values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(low + (high - low) * rng.uniform());
  return values;
}

// What the kinds draw for a 12 x 12 image at severity 5 of the small images'
// constants; the others draw nothing.
Numbers snow_draws(Rng& rng) {
  Numbers values = normals(rng, 144);
  values.push_back(-135 + 90 * rng.uniform());  // the angle
  return values;
}

Numbers glass_draws(Rng& rng) {  // two passes over 10 x 10 pixels
  Numbers values;
  for (int64_t i = 0; i < 2 * 10 * 10 * 2; ++i)
    values.push_back(static_cast<double>(rng.below(2)) - 1);
  return values;
}

Numbers frost_draws(Rng& rng) {
  const int64_t heights[] = {120, 63, 63, 70, 99};
  const int64_t widths[] = {180, 112, 112, 105, 132};
  const int64_t picture = rng.below(5);
  const int64_t top = rng.below(heights[picture] - 12);
  const int64_t left = rng.below(widths[picture] - 12);
  return {static_cast<double>(picture), static_cast<double>(top),
          static_cast<double>(left)};
}

const std::map<std::string, std::function<Numbers(Rng&)>> kDraws = {
    {"gaussian_noise", [](Rng& rng) { return normals(rng, 432); }},
    {"speckle_noise", [](Rng& rng) { return normals(rng, 432); }},
    {"shot_noise", [](Rng& rng) { return uniforms(rng, 432, 0, 1 - 0x1p-40); }},
    {"impulse_noise", [](Rng& rng) { return uniforms(rng, 864, 0, 1); }},
    {"glass_blur", glass_draws},
    {"motion_blur", [](Rng& rng) { return uniforms(rng, 1, -45, 45); }},
    {"snow", snow_draws},
    {"frost", frost_draws},
    {"fog", [](Rng& rng) { return uniforms(rng, 255, -1, 1); }},
    {"elastic_transform",
     [](Rng& rng) { return uniforms(rng, 6 + 2 * 144, -1, 1); }},
    {"spatter", [](Rng& rng) { return normals(rng, 144); }},
};

TEST(Draws, OfEveryKindAreThoseOfItsDescription) {
  KindSetting setting;
  setting.side = 12;
  for (const std::string& name : corruption_names()) {
    SCOPED_TRACE(name);
    const auto kind = make_kind(name, setting);
    const auto known = kDraws.find(name);
    ASSERT_EQ(kind->fields().empty(), known == kDraws.end());
    if (known == kDraws.end()) continue;
    std::vector<at::Tensor> parts;
    for (const at::Tensor& field :
         draw_for_images(*kind, Rng(3), {8}, at::kCPU))
      parts.push_back(field.reshape(-1));
    const at::Tensor found = at::cat(parts);

    Rng rng = Rng(3).child(uint64_t{8});
    const Numbers expected = known->second(rng);

    ASSERT_EQ(found.numel(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_DOUBLE_EQ(found.data_ptr<double>()[i], expected[i]) << i;
  }
}

}  // namespace
}  // namespace sotta
