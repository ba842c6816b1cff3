#include "adapt/screen/look_screen.h"

#include <algorithm>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

// A network of two classes that sees in a bright left or right half what it was
// made for: everything else leaves it undecided. Knows its own statistics, so
// that a group's drift can be told.
class HalvesClassifier : public Classifier {
 public:
  HalvesClassifier() {
    source_.body = at::zeros({1});
    source_.affine = at::zeros({2});
    source_.running_mean = at::zeros({1});
    source_.running_var = at::zeros({1}) + 0.04;
    layers_ = {{"norm", 1, 0}};
  }

  ForwardResult forward(const at::Tensor& images, const ModelState&,
                        NormStats) const override {
    const at::Tensor pixels = images.scalar_type() == at::kByte
                                  ? images.to(at::kFloat) / 255
                                  : images;
    const at::Tensor left = pixels.narrow(3, 0, 4).mean({1, 2, 3});
    const at::Tensor right = pixels.narrow(3, 4, 4).mean({1, 2, 3});
    ForwardResult result;
    result.logits = at::stack({left - right, right - left}, 1) * 20;
    result.batch_mean = at::zeros({1});
    result.batch_var = (left - right).var().reshape({1}) + 1e-4;
    return result;
  }
  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return 2; }
  int64_t channels() const override { return 1; }
  const std::vector<NormLayer>& norm_layers() const override { return layers_; }
  const Normalisation& normalisation() const override { return normalisation_; }
  NamedTensors named_tensors(const ModelState&) const override { return {}; }
  std::string engine() const override { return "halves"; }

 private:
  ModelState source_;
  std::vector<NormLayer> layers_;
  Normalisation normalisation_;
};

LookScreen screen_of_halves() {
  return LookScreen(
      std::make_shared<Executor>(std::make_shared<HalvesClassifier>()), {});
}

// One half bright, the other dark, a little uneven.
at::Tensor halves(int64_t count, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  at::Tensor images = at::rand({count, 1, 8, 8}, generator) * 0.05;
  const at::Tensor side =
      at::randint(0, 2, {count, 1, 1, 1}, generator).to(at::kFloat);
  images.narrow(3, 0, 4).add_(0.4 * side);
  images.narrow(3, 4, 4).add_(0.4 * (1 - side));
  return images;
}

at::Tensor noise(int64_t count, uint64_t seed) {
  return at::rand({count, 1, 8, 8}, at::detail::createCPUGenerator(seed));
}

int64_t flagged(const std::vector<bool>& flags, int64_t from, int64_t to) {
  return std::count(flags.begin() + from, flags.begin() + to, true);
}

TEST(LookScreen, FlagsNoiseAndNothingElse) {
  LookScreen screen = screen_of_halves();
  for (uint64_t window = 0; window < 4; ++window) {
    const auto flags =
        screen.judge(at::cat({halves(32, window), noise(32, 100 + window)}));
    EXPECT_EQ(flagged(flags, 0, 32), 0) << window;
    EXPECT_EQ(flagged(flags, 32, 64), 32) << window;
  }
  EXPECT_EQ(flagged(screen.is_foreign(noise(10, 7)), 0, 10), 10);
  EXPECT_EQ(flagged(screen.is_foreign(halves(10, 7)), 0, 10), 0);
}

TEST(LookScreen, OfOneKindOfImagesIsOpen) {
  LookScreen screen = screen_of_halves();
  for (uint64_t window = 0; window < 6; ++window) {
    const auto flags = screen.judge(noise(64, window));
    EXPECT_EQ(flagged(flags, 0, 64), 0);
  }
  EXPECT_FALSE(screen.active());
}

// Two kinds that the network knows equally well: a change of weather.
TEST(LookScreen, WhatTheNetworkKnowsIsNotForeign) {
  LookScreen screen = screen_of_halves();
  for (uint64_t window = 0; window < 4; ++window) {
    const auto flags = screen.judge(
        at::cat({halves(32, window), halves(32, 50 + window) + 0.5}));
    EXPECT_EQ(flagged(flags, 0, 64), 0);
  }
  EXPECT_GT(screen.gap(), 5.5);
  EXPECT_FALSE(screen.active());
}

TEST(LookScreen, TakesImagesOneAtATime) {
  LookScreen screen = screen_of_halves();
  int64_t wrong = 0;
  for (uint64_t i = 0; i < 256; ++i) {
    const bool foreign = screen.judge(i % 2 ? noise(1, i) : halves(1, i))[0];
    wrong += i >= 128 && foreign != (i % 2 == 1);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(LookScreen, OpensAgainWhenTheForeignImagesAreGone) {
  LookScreen screen = screen_of_halves();
  for (uint64_t window = 0; window < 4; ++window)
    screen.judge(at::cat({halves(32, window), noise(32, 100 + window)}));
  ASSERT_TRUE(screen.active());
  for (uint64_t window = 0; window < 8; ++window)
    EXPECT_EQ(flagged(screen.judge(halves(64, 10 + window)), 0, 64), 0);
  EXPECT_FALSE(screen.active());
}

TEST(LookScreen, GoesOnFromASnapshot) {
  LookScreen screen = screen_of_halves(), other = screen_of_halves();
  for (uint64_t window = 0; window < 3; ++window)
    screen.judge(at::cat({halves(32, window), noise(32, 100 + window)}));
  Snapshot snapshot;
  StateArchive into = StateArchive::into(snapshot);
  screen.exchange(into);
  StateArchive from = StateArchive::from(snapshot);
  other.exchange(from);
  from.commit();
  for (uint64_t window = 3; window < 6; ++window) {
    const at::Tensor images =
        at::cat({halves(32, window), noise(32, 100 + window)});
    EXPECT_EQ(other.judge(images), screen.judge(images));
  }
}

TEST(LookScreen, RefusesASnapshotOfAnotherSize) {
  LookScreen screen = screen_of_halves();
  screen.judge(at::cat({halves(32, 1), noise(32, 2)}));
  Snapshot snapshot;
  StateArchive into = StateArchive::into(snapshot);
  screen.exchange(into);
  ASSERT_TRUE(snapshot.tensors.count("screen.groups"));
  for (const char* name : {"screen.looks", "screen.groups", "screen.images"}) {
    Snapshot damaged = snapshot;
    at::Tensor& tensor = damaged.tensors[name];
    tensor = tensor.narrow(0, 0, tensor.size(0) - 1).clone();
    StateArchive from = StateArchive::from(damaged);
    LookScreen other = screen_of_halves();
    EXPECT_THROW(other.exchange(from), Error) << name;
  }
}

}  // namespace
}  // namespace sotta
