#include <tuple>

#include <ATen/ops/zeros.h>

#include "sotta/adapt/adapter.h"
#include "sotta/core/error.h"

#include "tests/adapt/small_adapter.h"
#include "tests/support/temp_dir.h"

// A guarded run that is saved and restored again and again is the run that
// nobody disturbed, for every method and every action of the guards.

namespace sotta {
namespace {

using testing::expect_same_state;
using testing::golden_stream;
using testing::small_adapter;

constexpr int64_t kWindows = 7;
constexpr int64_t kImages = kWindows * testing::kSmallWindow;

class GuardedRun
    : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  // Guards that trip after two windows of one class.
  std::unique_ptr<Adapter> make() const {
    GuardOptions guard;
    guard.action = std::get<1>(GetParam());
    guard.history = 2;
    guard.max_class_share = 0.8;
    const std::string method = std::get<0>(GetParam());
    OptionMap more;  // views of one image would be of several classes
    if (method == "cotta") more = {{"anchor_confidence", 0.0}};
    return small_adapter(method, guard, more);
  }

  // Windows 1 and 2, and 4 and 5, are of one image each.
  static at::Tensor make_stream() {
    at::Tensor stream = golden_stream().slice(0, 0, kImages).clone();
    stream.slice(0, 16, 48).copy_(golden_stream().slice(0, 5, 6));
    stream.slice(0, 64, 96).copy_(golden_stream().slice(0, 9, 10));
    return stream;
  }

  // Goes on in an adapter that has another past: a window and a part of one.
  void replace(std::unique_ptr<Adapter>& adapter) const {
    write_snapshot(folder_ / "state", adapter->snapshot());
    auto fresh = make();
    fresh->step(golden_stream().slice(0, 100, 119));
    fresh->restore(read_snapshot(folder_ / "state"));
    adapter = std::move(fresh);
  }

  const at::Tensor stream_ = make_stream();
  const testing::TempDir folder_;
};

void expect_same(const UpdateReport& found, const UpdateReport& wanted) {
  EXPECT_EQ(found.applied, wanted.applied);
  EXPECT_EQ(found.skipped, wanted.skipped);
  EXPECT_EQ(found.verdicts, wanted.verdicts);
  EXPECT_EQ(found.guard, wanted.guard);
}

// Calls of 8: cuts at the end and in the middle of every window.
TEST_P(GuardedRun, CutAfterEveryCallIsTheUncutOne) {
  const auto whole = make();
  auto chain = make();
  int64_t trips = 0, windows = 0;
  for (int64_t begin = 0; begin < kImages; begin += 8) {
    SCOPED_TRACE(begin);
    const at::Tensor images = stream_.slice(0, begin, begin + 8);
    const StepResult wanted = whole->step(images);
    const StepResult found = chain->step(images);
    EXPECT_TRUE(found.logits.equal(wanted.logits));
    EXPECT_EQ(found.verdicts, wanted.verdicts);
    EXPECT_EQ(found.guard, wanted.guard);
    EXPECT_EQ(chain->updates(), whole->updates());
    EXPECT_EQ(chain->memory_samples(), whole->memory_samples());
    replace(chain);
    expect_same_state(chain->snapshot(), whole->snapshot());
    trips += wanted.guard.empty() ? 0 : 1;
    windows += static_cast<int64_t>(wanted.updates.size());
  }
  EXPECT_EQ(windows, kWindows);
  // While its memory fills there is no update that could trip one.
  EXPECT_GE(trips, std::get<0>(GetParam()) == "screened_sotta" ? 1 : 2);
  EXPECT_LE(trips, 3);  // LAME has more windows of one class
}

// The window whole, and its update in another adapter.
TEST_P(GuardedRun, CutBetweenObservingAndLearningIsTheUncutOne) {
  const auto whole = make();
  auto chain = make();
  for (int64_t begin = 0; begin < kImages; begin += testing::kSmallWindow) {
    SCOPED_TRACE(begin);
    const at::Tensor images =
        stream_.slice(0, begin, begin + testing::kSmallWindow);
    const StepResult wanted = whole->step(images);
    EXPECT_TRUE(chain->observe(images).logits.equal(wanted.logits));
    replace(chain);
    expect_same(chain->update(), wanted.updates.at(0));
    expect_same_state(chain->snapshot(), whole->snapshot());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registry, GuardedRun,
    ::testing::Combine(::testing::ValuesIn(method_names()),
                       ::testing::Values("skip", "rollback", "reset")),
    [](const auto& test) {
      return std::get<0>(test.param) + "_" + std::get<1>(test.param);
    });

// Its good state holds images of the size before.
TEST(GuardedAdapter, KeepsTheSizeOfImagesWhenItGoesBack) {
  GuardOptions guard;
  guard.action = "reset";
  guard.history = 2;
  guard.max_class_share = 0.8;
  const auto adapter = small_adapter("sotta", guard);
  const at::Tensor one =
      golden_stream().slice(0, 5, 6).expand({16, -1, -1, -1});
  const at::Tensor larger = at::zeros({16, 3, 24, 24}, at::kByte);
  for (int64_t i = 0; i < 2; ++i)
    adapter->step(golden_stream().slice(0, 16 * i, 16 * (i + 1)));
  while (adapter->step(one).guard.empty()) {
  }
  const Snapshot after = adapter->snapshot();
  EXPECT_THROW(adapter->step(larger), Error);
  EXPECT_NO_THROW(adapter->restore(adapter->snapshot()));

  const auto other = small_adapter("sotta", guard);
  other->restore(after);
  EXPECT_THROW(other->step(larger), Error);
}

}  // namespace
}  // namespace sotta
