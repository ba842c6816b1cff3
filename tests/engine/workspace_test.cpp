#include "engine/cpu/network/workspace.h"

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

std::unique_ptr<Workspace> make(int64_t images) {
  LayerSizes sizes;
  sizes.norms = {{1, 16, 8, 8}, {1, 32, 4, 4}, {1, 32, 4, 4}};
  sizes.blocks = {{{1, 2}, {}}};
  sizes.pooled = {1, 16, 4, 4};
  return std::make_unique<Workspace>(sizes, /*low_memory=*/false, images, 8, 8);
}

TEST(Workspace, HasRoomForEveryLayer) {
  const auto space = make(3);
  EXPECT_GE(space->memory.size(), 3 * (16 * 64 + 2 * 32 * 16));
  EXPECT_EQ(space->memory.size(), 3 * space->plan.size);
  EXPECT_EQ(space->at(5) - space->at(0), 15);
  EXPECT_EQ(space->argmax.size(), 3 * 16 * 16);
  EXPECT_GE(space->relu_masks[0].size(), 3 * 32 * 16 / 16 * kMaskBytes);
}

TEST(Workspace, MakesScratchForEveryWorkerOnce) {
  const auto space = make(1);
  space->ensure_workers(3);
  space->ensure_workers(2);
  EXPECT_EQ(space->workers.size(), 3);
}

TEST(WorkspacePool, LendsWhatFits) {
  WorkspacePool pool;
  EXPECT_EQ(pool.acquire(4, 8, 8), nullptr);
  auto space = make(4);
  const Workspace* same = space.get();
  pool.release(std::move(space));

  space = pool.acquire(3, 8, 8);
  EXPECT_EQ(space.get(), same);
  EXPECT_EQ(pool.acquire(3, 8, 8), nullptr);
}

TEST(WorkspacePool, DropsWhatDoesNotFitAnyMore) {
  WorkspacePool pool;
  pool.release(make(4));
  EXPECT_EQ(pool.acquire(5, 8, 8), nullptr);
  EXPECT_EQ(pool.acquire(4, 8, 8), nullptr);
}

}  // namespace
}  // namespace sotta::engine
