#include "corrupt/draws.h"

#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sotta
