#include <gtest/gtest.h>

#include "sotta/eval/workbench.h"

#include "tests/eval/tiny_bench.h"

namespace sotta {
namespace {

using testing::TinyBench;

Cell first_cell(const Grid& grid) {
  return expand(grid).front();
}

WorkbenchOptions options_of(const TinyBench& tiny) {
  WorkbenchOptions options;
  options.data_root = tiny.root();
  return options;
}

// Two cells that differ have images of their own also where they are mixed.
TEST(WorkbenchSharing, MixedSourceImagesAreThoseOfTheStream) {
  const TinyBench tiny;
  Workbench shared(options_of(tiny));
  const auto images = [](const Cell& cell, Workbench& bench) {
    return bench.prepare(cell).context.source_images;
  };
  Cell plain = first_cell(tiny.grid());
  plain.preset = "paper";
  const at::Tensor before = images(plain, shared);
  const auto expect_change = [&](const auto& change) {
    Cell cell = plain;
    change(cell.stream);
    EXPECT_TRUE(images(plain, shared).equal(before));
    const at::Tensor after = images(cell, shared);
    Workbench fresh(options_of(tiny));
    EXPECT_TRUE(after.equal(images(cell, fresh)));
    EXPECT_FALSE(after.equal(before));
  };
  using O = StreamOptions;
  expect_change([](O& o) { o.scenario = "attack"; });
  expect_change([](O& o) { o.scenario = "far"; });
  expect_change([](O& o) { o.foreign_count = 7; });
  expect_change([](O& o) { o.limit = 19; });
  expect_change([](O& o) { o.seed = 1; });
}

TEST(WorkbenchSharing, SaysWhereCorruptedImagesComeFrom) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  EXPECT_EQ(bench.describe(cell).corruption_source, "");
  cell.stream.corruptions = "gaussian_noise";
  EXPECT_EQ(bench.describe(cell).corruption_source, "made");
}

TEST(WorkbenchSharing, WithoutReplayAnyNumberOfJobsIsAllowed) {
  const TinyBench tiny;
  WorkbenchOptions options = options_of(tiny);
  options.device = at::Device(at::kCUDA, 0);
  options.jobs = 33;
  EXPECT_NO_THROW(Workbench bench(options));
  options.device = at::Device(at::kCPU);
  options.replay = true;
  EXPECT_NO_THROW(Workbench bench(options));
  options.device = at::Device(at::kCUDA, 0);
  options.jobs = 1;
  EXPECT_NO_THROW(Workbench bench(options));
}

TEST(WorkbenchSharing, ARunThatIsStoppedInItsSharedPassSaysSo) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  Cell cell = first_cell(tiny.grid());
  cell.method = "source";
  const RunResult stopped =
      run_cell(cell, bench, [](const Progress&) { return false; });
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.record.samples, 0);
  EXPECT_FALSE(run_cell(cell, bench).stopped);
}

}  // namespace
}  // namespace sotta
