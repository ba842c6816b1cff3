#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

// What can be seen on the CPU of methods whose windows are replayed on a GPU:
// they give the same, and their state stays where it is in memory.
class ReplayedMethod : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Adapter> adapter(bool replay) const {
    MethodContext context = trace.context();
    context.replay = replay;
    OptionMap changes;
    if (GetParam() == "rotta" || GetParam() == "sotta")
      changes["memory_capacity"] = int64_t{16};  // soon full
    if (GetParam() == "sotta") changes["min_confidence"] = 0.3;
    return make_adapter(GetParam(), context, Preset::kClean, changes);
  }
  at::Tensor window(int64_t i) const { return trace.window(i % 6); }

  const Trace trace{"tent_clean"};
};

TEST_P(ReplayedMethod, GivesTheSame) {
  const auto plain = adapter(false), replayed = adapter(true);
  for (int64_t i = 0; i < 12; ++i) {
    const auto wanted = plain->step(window(i)),
               found = replayed->step(window(i));
    EXPECT_TRUE(testing::close(found.logits, wanted.logits, 1e-5)) << i;
    EXPECT_EQ(found.verdicts, wanted.verdicts) << i;
    EXPECT_EQ(found.updates[0].applied, wanted.updates[0].applied) << i;
    if (!wanted.updates[0].applied) continue;
    EXPECT_NEAR(number(found.updates[0].loss), number(wanted.updates[0].loss),
                1e-5);
  }
  EXPECT_TRUE(
      testing::close(replayed->state().affine, plain->state().affine, 1e-6));
}

TEST_P(ReplayedMethod, KeepsItsStateInPlace) {
  const auto replayed = adapter(true);
  const auto places = [&] {
    const ModelState state = replayed->state();
    return std::vector<void*>{state.affine.data_ptr(),
                              state.running_mean.data_ptr(),
                              state.running_var.data_ptr()};
  };
  const auto before = places();
  replayed->step(window(0));
  const Snapshot snapshot = replayed->snapshot();
  replayed->step(window(1));
  EXPECT_EQ(places(), before);
  replayed->restore(snapshot);
  EXPECT_EQ(places(), before);
  replayed->reset();
  EXPECT_EQ(places(), before);
}

TEST_P(ReplayedMethod, ContinuesFromASnapshotBetweenReplays) {
  const auto replayed = adapter(true);
  for (int64_t i = 0; i < 6; ++i)
    replayed->step(window(i));
  const Snapshot snapshot = replayed->snapshot();
  const at::Tensor wanted = replayed->step(window(1)).logits;
  const ModelState after = replayed->state().clone_norm();
  replayed->step(window(2));
  replayed->restore(snapshot);
  EXPECT_TRUE(replayed->step(window(1)).logits.equal(wanted));
  EXPECT_TRUE(replayed->state().affine.equal(after.affine));
  EXPECT_TRUE(replayed->state().running_mean.equal(after.running_mean));
}

INSTANTIATE_TEST_SUITE_P(Methods, ReplayedMethod,
                         ::testing::Values("source", "bn_stats", "tent",
                                           "pseudo_label", "rotta", "sotta"),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
