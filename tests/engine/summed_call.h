#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "engine/cpu/conv/conv_call.h"
#include "tests/engine/blocked.h"

namespace sotta::engine {

// A convolution of five random images from 32 to 16 channels that takes sums
// of its results.
struct SummedCall {
  explicit SummedCall(int64_t width = 12)
      : images(random_array({5, 32, 12, width}, 1)) {
    call.input = images.sizes();
    call.output = {5, 16, 12, width};
    call.prologue.values = input.data();
    call.epilogue.kind = Epilogue::Kind::kStatistics;
    call.epilogue.out = output.data();
    call.epilogue.centre = centre.data();
  }

  // Of run(call, context); expects the same at any number of threads.
  template <class Run>
  std::vector<double> sums(const Run& run) {
    std::vector<std::vector<double>> found;
    for (const int64_t threads : {1, 2, 4}) {
      PartialSums slots;
      call.sums = &slots;
      run(call, TestWorkers(threads).context);
      found.emplace_back(slots.row(0, 16), slots.row(0, 16) + 32);
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_EQ(found[0], found[2]);
    return found[0];
  }

  const Array images;
  const FloatBuffer input = to_blocked(images);
  const FloatBuffer output{5 * 16 * 12 * images.sizes().width};
  const FloatBuffer centre = random_vector(16, 3);
  ConvCall call;
};

}  // namespace sotta::engine
