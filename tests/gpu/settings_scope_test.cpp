#include "gpu/settings_scope.h"

#include <atomic>
#include <thread>
#include <vector>

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

const at::Device kGpu(at::kCUDA, 0);

DeviceSettings settings(Precision precision, bool tuned = false) {
  DeviceSettings settings;
  settings.precision = precision;
  settings.tuned = tuned;
  return settings;
}

bool rounds() {
  EXPECT_EQ(at::globalContext().allowTF32CuDNN(),
            at::globalContext().allowTF32CuBLAS());
  return at::globalContext().allowTF32CuDNN();
}

TEST(SettingsScope, CoarserPrecisionsLetAGpuRound) {
  for (const auto precision : {Precision::kTf32, Precision::kFloat32,
                               Precision::kBfloat16, Precision::kFloat32}) {
    const SettingsScope scope(settings(precision), kGpu);
    EXPECT_EQ(rounds(), precision != Precision::kFloat32);
  }
}

TEST(SettingsScope, TunedOnesTryAFewWays) {
  const bool tries = at::globalContext().benchmarkCuDNN();
  const int most = at::globalContext().benchmarkLimitCuDNN();
  {
    const SettingsScope scope(settings(Precision::kTf32, /*tuned=*/true), kGpu);
    EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
    EXPECT_EQ(at::globalContext().benchmarkLimitCuDNN(), 4);
  }
  EXPECT_EQ(at::globalContext().benchmarkCuDNN(), tries);
  EXPECT_EQ(at::globalContext().benchmarkLimitCuDNN(), most);
}

TEST(SettingsScope, GivesTheProcessBackWhatItHad) {
  for (const bool before : {true, false}) {
    at::globalContext().setAllowTF32CuDNN(before);
    at::globalContext().setAllowTF32CuBLAS(!before);
    for (const auto precision : {Precision::kTf32, Precision::kFloat32})
      const SettingsScope scope(settings(precision), kGpu);
    EXPECT_EQ(at::globalContext().allowTF32CuDNN(), before);
    EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), !before);
  }
  at::globalContext().setAllowTF32CuDNN(true);  // LibTorch's own
  at::globalContext().setAllowTF32CuBLAS(false);
}

TEST(SettingsScope, OfInnerScopesIsTheInnersAndThenTheOuters) {
  const SettingsScope outer(settings(Precision::kFloat32), kGpu);
  {
    const SettingsScope inner(settings(Precision::kTf32), kGpu);
    EXPECT_TRUE(rounds());
    {
      const SettingsScope same(settings(Precision::kTf32), kGpu);
      EXPECT_TRUE(rounds());
    }
    EXPECT_TRUE(rounds());
  }
  EXPECT_FALSE(rounds());
}

TEST(SettingsScope, OnTheCpuIsNothing) {
  const bool before = at::globalContext().allowTF32CuDNN();
  const SettingsScope scope(settings(Precision::kFloat32, true), at::kCPU);
  EXPECT_EQ(at::globalContext().allowTF32CuDNN(), before);
  EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
}

TEST(SettingsScope, LetsThreadsWithEqualSettingsInTogether) {
  std::atomic<int> inside{0};
  const auto meet = [&] {
    const SettingsScope scope(settings(Precision::kTf32), kGpu);
    ++inside;
    while (inside < 2)  // hangs if one keeps the other out
      std::this_thread::yield();
  };
  std::thread other(meet);
  meet();
  other.join();
  EXPECT_EQ(inside, 2);
}

// Without the turns some thread sees another's settings at once.
TEST(SettingsScope, KeepsThreadsWithOtherSettingsApart) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const auto precision : {Precision::kFloat32, Precision::kTf32,
                               Precision::kFloat32, Precision::kBfloat16})
    threads.emplace_back([&wrong, precision] {
      for (int i = 0; i < 2000; ++i) {
        const SettingsScope scope(settings(precision), kGpu);
        const bool expected = precision != Precision::kFloat32;
        for (int look = 0; look < 20; ++look)
          wrong += at::globalContext().allowTF32CuDNN() != expected;
        if (i % 3 != 0) continue;
        const SettingsScope inner(settings(Precision::kFloat32), kGpu);
        wrong += at::globalContext().allowTF32CuDNN();
      }
    });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace sotta
