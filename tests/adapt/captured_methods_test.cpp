#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

void expect_same(const Snapshot& found, const Snapshot& wanted) {
  EXPECT_EQ(found.tensors.size(), wanted.tensors.size());
  for (const auto& [name, tensor] : wanted.tensors)
    EXPECT_TRUE(found.tensors.at(name).equal(tensor)) << name;
}

// What can be seen on the CPU of methods whose windows are captured as CUDA
// graphs on a GPU: they give the same, and their state stays where it is in
// memory.
class CapturedMethod : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Adapter> adapter(bool cuda_graphs) const {
    MethodContext context = trace.context();
    context.source_images = testing::golden_stream();
    context.measure_loss_after = true;
    if (cuda_graphs) context.executor = testing::capturing_executor(context);
    OptionMap changes;
    if (GetParam() == "rotta" || GetParam() == "sotta")
      changes["memory_capacity"] = int64_t{16};  // soon full
    if (GetParam() == "sotta") changes["min_confidence"] = 0.3;
    return make_adapter(GetParam(), context, Preset::kClean, changes);
  }
  at::Tensor window(int64_t i) const { return trace.window(i % 6); }

  const Trace trace{"tent_clean"};
};

TEST_P(CapturedMethod, GivesTheSame) {
  const auto plain = adapter(false), captured = adapter(true);
  for (int64_t i = 0; i < 12; ++i) {
    const auto wanted = plain->step(window(i)),
               found = captured->step(window(i));
    EXPECT_TRUE(found.logits.equal(wanted.logits)) << i;
    EXPECT_EQ(found.verdicts, wanted.verdicts) << i;
    EXPECT_EQ(found.updates[0].applied, wanted.updates[0].applied) << i;
    if (!wanted.updates[0].applied) continue;
    EXPECT_EQ(number(found.updates[0].loss), number(wanted.updates[0].loss));
    EXPECT_EQ(number(found.updates[0].loss_after),
              number(wanted.updates[0].loss_after));
  }
  expect_same(captured->snapshot(), plain->snapshot());
}

TEST_P(CapturedMethod, KeepsItsStateInPlace) {
  const auto captured = adapter(true);
  const auto places = [&] {
    const ModelState state = captured->state();
    return std::vector<void*>{state.affine.data_ptr(),
                              state.running_mean.data_ptr(),
                              state.running_var.data_ptr()};
  };
  const auto before = places();
  captured->step(window(0));
  const Snapshot snapshot = captured->snapshot();
  captured->step(window(1));
  EXPECT_EQ(places(), before);
  captured->restore(snapshot);
  EXPECT_EQ(places(), before);
  captured->reset();
  EXPECT_EQ(places(), before);
}

TEST_P(CapturedMethod, ContinuesFromASnapshotBetweenLaunches) {
  const auto captured = adapter(true);
  for (int64_t i = 0; i < 6; ++i)
    captured->step(window(i));
  const Snapshot snapshot = captured->snapshot();
  const at::Tensor wanted = captured->step(window(1)).logits;
  const ModelState after = captured->state().clone_norm();
  captured->step(window(2));
  captured->restore(snapshot);
  EXPECT_TRUE(captured->step(window(1)).logits.equal(wanted));
  EXPECT_TRUE(captured->state().affine.equal(after.affine));
  EXPECT_TRUE(captured->state().running_mean.equal(after.running_mean));
}

TEST_P(CapturedMethod, ContinuesFromASnapshotBetweenObservationAndUpdate) {
  const auto captured = adapter(true), other = adapter(true);
  for (int64_t i = 0; i < 4; ++i) {
    captured->step(window(i));
    other->step(window(i + 1));
  }
  captured->observe(window(4));
  other->restore(captured->snapshot());
  captured->update();
  other->update();
  expect_same(other->snapshot(), captured->snapshot());
  EXPECT_TRUE(
      other->step(window(5)).logits.equal(captured->step(window(5)).logits));
}

INSTANTIATE_TEST_SUITE_P(Methods, CapturedMethod,
                         ::testing::Values("source", "bn_stats", "lame", "tent",
                                           "pseudo_label", "eata", "sar",
                                           "rotta", "sotta"),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
