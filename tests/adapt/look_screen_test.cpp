#include "adapt/screen/look_screen.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/adapt/halves_classifier.h"
#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::halves;
using testing::HalvesClassifier;
using testing::noise;

LookScreen screen_of_halves() {
  return LookScreen(
      std::make_shared<Executor>(std::make_shared<HalvesClassifier>()), {});
}

int64_t flagged(const std::vector<bool>& flags, int64_t from, int64_t to) {
  return std::count(flags.begin() + from, flags.begin() + to, true);
}
int64_t flagged(const Screening& screening, int64_t from, int64_t to) {
  return flagged(are_foreign(screening.scores), from, to);
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
  EXPECT_GT(screen.gate().gap, 5.5);
  EXPECT_FALSE(screen.gate().closed);
  EXPECT_FALSE(screen.active());
}

// Learns of noise some 0.86 of what it learns of halves: its answers are 0.04
// away from certain. Says that it has so many classes.
struct HalvesAmongClasses : HalvesClassifier {
  explicit HalvesAmongClasses(int64_t classes) : count(classes) {}
  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    ForwardResult result = HalvesClassifier::forward(images, state, stats);
    if (result.batch_var.item<double>() < 0.05) {  // noise
      const at::Tensor turn = at::arange(images.size(0)).remainder(2) * 2 - 1;
      result.logits = at::stack({1.57 * turn, -1.57 * turn}, 1);
    }
    return result;
  }
  int64_t classes() const override { return count; }
  int64_t count;
};

// Information spreads more, the more classes there are.
TEST(LookScreen, OfManyClassesInformationHasToBeLower) {
  for (const int64_t classes : {2, 10, 100}) {
    LookScreen screen(std::make_shared<Executor>(
                          std::make_shared<HalvesAmongClasses>(classes)),
                      {});
    for (uint64_t window = 0; window < 8; ++window)
      screen.judge(at::cat({halves(32, window), noise(32, 100 + window)}));
    EXPECT_NEAR(screen.gate().information, 0.86, 0.03);
    EXPECT_EQ(screen.active(), classes < 100) << classes;
  }
}

TEST(LookScreen, TakesImagesOneAtATime) {
  LookScreen screen = screen_of_halves();
  int64_t wrong = 0;
  for (uint64_t i = 0; i < 256; ++i) {
    const bool foreign =
        screen.judge(i % 2 ? noise(1, i) : halves(1, i)).scores[0] > 0;
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
    EXPECT_EQ(other.judge(images).scores, screen.judge(images).scores);
    EXPECT_EQ(other.gate().gap, screen.gate().gap);
  }
}

TEST(LookScreen, ScoresAreHigherTheMoreForeignALookIs) {
  LookScreen screen = screen_of_halves();
  Screening last = screen.judge(halves(32, 1));
  EXPECT_EQ(last.scores, std::vector<float>(32));  // no parting yet
  EXPECT_EQ(last.gate.gap, 0);
  EXPECT_TRUE(std::isnan(last.gate.information));
  for (uint64_t window = 0; window < 3; ++window)
    last = screen.judge(at::cat({halves(32, window), noise(32, 9 + window)}));
  ASSERT_EQ(last.scores.size(), 64U);
  const auto middle = last.scores.begin() + 32;
  EXPECT_LT(*std::max_element(last.scores.begin(), middle), 0);
  EXPECT_GT(*std::min_element(middle, last.scores.end()), 0);
  EXPECT_TRUE(last.gate.closed);
  EXPECT_GT(last.gate.gap, 5.5);
  EXPECT_LT(last.gate.information, 0.93);
  EXPECT_GT(last.gate.drift, 1.1);

  // Between the two kinds lies what is less foreign than noise.
  const at::Tensor between = 0.5 * halves(1, 7) + 0.5 * noise(1, 7);
  LookScreen copy = screen_of_halves();
  Snapshot snapshot;
  StateArchive into = StateArchive::into(snapshot);
  screen.exchange(into);
  StateArchive from = StateArchive::from(snapshot);
  copy.exchange(from);
  from.commit();
  const auto three =
      copy.judge(at::cat({halves(1, 7), between, noise(1, 7)})).scores;
  EXPECT_LT(three[0], three[1]);
  EXPECT_LT(three[1], three[2]);
}

TEST(LookScreen, ANumberThatIsNoneIsNotForeign) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(are_foreign({none, 0.F, 1e-30F, -1.F}),
            (std::vector<bool>{false, false, true, false}));
}

// Filters at two scales need 6 x 6 pixels.
TEST(LookScreen, ImagesTooSmallForALookAreNotForeign) {
  LookScreen screen = screen_of_halves();
  for (uint64_t window = 0; window < 4; ++window) {
    const at::Tensor images =
        at::cat({halves(32, window), noise(32, 100 + window)});
    for (const int64_t side : {1, 5}) {
      const Screening found = screen.judge(images.narrow(2, 0, side));
      EXPECT_EQ(found.scores, std::vector<float>(64)) << side;
      EXPECT_FALSE(found.gate.closed);
    }
  }
  EXPECT_EQ(flagged(screen.is_foreign(noise(3, 1).narrow(3, 0, 5)), 0, 3), 0);
}

// Whose answers under a batch's own statistics are no numbers while `broken`.
struct BrokenHalves : HalvesClassifier {
  mutable bool broken = true;
  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    ForwardResult result = HalvesClassifier::forward(images, state, stats);
    if (broken) result.logits.fill_(std::numeric_limits<float>::quiet_NaN());
    return result;
  }
};

TEST(LookScreen, AnswersThatAreNoNumbersDoNotCount) {
  const auto network = std::make_shared<BrokenHalves>();
  LookScreen screen(std::make_shared<Executor>(network), {});
  for (uint64_t window = 0; window < 8; ++window) {
    screen.judge(at::cat({halves(32, window), noise(32, 100 + window)}));
    network->broken = window < 3;
  }
  EXPECT_TRUE(screen.active());
  EXPECT_TRUE(std::isfinite(screen.gate().information));
}

// It would never close, or fail in the middle of a stream.
TEST(LookScreen, RefusesASnapshotOfWhatCannotHaveComeAbout) {
  LookScreen screen = screen_of_halves();
  screen.judge(at::cat({halves(32, 1), noise(32, 2)}));
  Snapshot snapshot;
  StateArchive into = StateArchive::into(snapshot);
  screen.exchange(into);
  for (const char* name : {"screen.looks", "screen.groups", "screen.foreign",
                           "screen.answers", "screen.unparted"}) {
    Snapshot damaged = snapshot;
    at::Tensor& tensor = damaged.tensors.at(name);
    tensor = tensor.clone();
    const bool is_word = tensor.scalar_type() == at::kLong;
    if (is_word)
      tensor.fill_(std::numeric_limits<int64_t>::max());
    else
      tensor.flatten()[0] = std::numeric_limits<float>::infinity();
    StateArchive from = StateArchive::from(damaged);
    LookScreen other = screen_of_halves();
    EXPECT_THROW(other.exchange(from), Error) << name;
  }
}

// Earlier versions kept such answers for as long as the groups stayed the same.
TEST(LookScreen, ASnapshotWithAnswersThatAreNoNumbersGoesOnWithoutThem) {
  LookScreen screen = screen_of_halves();
  screen.judge(at::cat({halves(32, 1), noise(32, 2)}));
  Snapshot snapshot;
  StateArchive into = StateArchive::into(snapshot);
  screen.exchange(into);
  at::Tensor& drift = snapshot.tensors.at("screen.drift");
  drift = at::full_like(drift, std::numeric_limits<int64_t>::max());  // NaN

  LookScreen other = screen_of_halves();
  StateArchive from = StateArchive::from(snapshot);
  other.exchange(from);
  from.commit();
  for (uint64_t window = 0; window < 6; ++window)
    other.judge(at::cat({halves(32, window), noise(32, 100 + window)}));

  EXPECT_TRUE(other.active());
  EXPECT_TRUE(std::isfinite(other.gate().drift));
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
