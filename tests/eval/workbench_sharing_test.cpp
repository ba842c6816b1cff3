#include <filesystem>

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

TEST(WorkbenchSharing, WithoutCudaGraphsAnyNumberOfJobsIsAllowed) {
  const TinyBench tiny;
  WorkbenchOptions options = options_of(tiny);
  options.device = at::Device(at::kCUDA, 0);
  options.jobs = 33;
  EXPECT_NO_THROW(Workbench bench(options));
  options.device = at::Device(at::kCPU);
  options.cuda_graphs = true;
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

// What a task has of what is shared. Holding it keeps addresses apart.
struct Shared {
  RunTask task;
  int64_t windows_asked = 0;  // of a pass that was made for it

  const void* plan() const { return task.plan.get(); }
  const void* targets() const { return task.sources.domains[0].images.get(); }
  const void* source() const { return task.context.source_images.data_ptr(); }
};

// A stream, corruption and source images of its own for every number.
Shared ask_for(const TinyBench& tiny, int64_t number, Workbench& bench) {
  Cell cell = first_cell(tiny.grid());
  cell.method = "source";
  cell.stream.corruptions = "gaussian_noise";
  cell.stream.corruption_seed = cell.stream.seed = number;
  Shared shared;
  shared.task = bench.prepare(cell, [&](const Progress&) {
    ++shared.windows_asked;
    return true;
  });
  return shared;
}

TEST(WorkbenchSharing, HoldsOneStreamMoreThanRunSideBySide) {
  const TinyBench tiny;
  for (const int64_t jobs : {1, 3}) {
    WorkbenchOptions options = options_of(tiny);
    options.jobs = jobs;
    Workbench bench(options);
    std::vector<Shared> first;
    for (int64_t i = 0; i <= jobs; ++i) {
      first.push_back(ask_for(tiny, i, bench));
      EXPECT_EQ(first.back().windows_asked, 3);
    }
    const auto expect_held = [&](int64_t number, bool held) {
      const Shared& before = first[static_cast<size_t>(number)];
      const Shared again = ask_for(tiny, number, bench);
      EXPECT_EQ(again.windows_asked == 0, held) << jobs << " " << number;
      EXPECT_EQ(again.plan() == before.plan(), held);
      EXPECT_EQ(again.targets() == before.targets(), held);
      EXPECT_EQ(again.source() == before.source(), held);
    };
    for (int64_t i = 0; i <= jobs; ++i)
      expect_held(i, true);
    ask_for(tiny, 100, bench);  // takes the place of the first
    for (int64_t i = 1; i <= jobs; ++i)
      expect_held(i, true);
    expect_held(0, false);
  }
}

TEST(WorkbenchSharing, HoldsFourModels) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  std::vector<std::shared_ptr<const Classifier>> models;
  const auto model = [&](int64_t number) {
    Cell cell = first_cell(tiny.grid());
    cell.model =
        (tiny.root() / (std::to_string(number) + ".safetensors")).string();
    if (!std::filesystem::exists(cell.model))
      std::filesystem::copy_file(tiny.model(), cell.model);
    return bench.prepare(cell).context.model;
  };
  for (int64_t i = 0; i < 4; ++i)
    models.push_back(model(i));
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(model(i), models[static_cast<size_t>(i)]);
  model(4);
  EXPECT_EQ(model(1), models[1]);
  EXPECT_NE(model(0), models[0]);
}

TEST(WorkbenchSharing, HoldsEightForeignSets) {
  const TinyBench tiny;
  Workbench bench(options_of(tiny));
  const std::vector<std::pair<std::string, std::string>> all = {
      {"far", ""},
      {"far", "mnist"},
      {"far", "mnist:test"},
      {"far", "cifar10"},
      {"far", "cifar10:test"},
      {"near", "mnist"},
      {"near", "mnist:test"},
      {"near", "cifar10"},
      {"near", "cifar10:test"}};
  const auto foreign = [&](size_t number) {
    Cell cell = first_cell(tiny.grid());
    cell.stream.scenario = all[number].first;
    cell.stream.foreign = all[number].second;
    return bench.prepare(cell).sources.foreign;
  };
  std::vector<std::shared_ptr<const Dataset>> sets;
  for (size_t i = 0; i < 8; ++i)
    sets.push_back(foreign(i));
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(foreign(i), sets[i]) << i;
  foreign(8);
  EXPECT_EQ(foreign(1), sets[1]);
  EXPECT_NE(foreign(0), sets[0]);
}

}  // namespace
}  // namespace sotta
