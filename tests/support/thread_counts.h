#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

namespace sotta::testing {

// Sets LibTorch's thread count for a scope.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(at::get_num_threads()) {
    at::set_num_threads(count);
  }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

// Expects `make()`, a tensor, to be the same at 1, 2 and 4 threads.
template <class Make>
void expect_same_bits_at_any_thread_count(Make make) {
  const auto make_at = [&](int threads) {
    const ThreadCount count(threads);
    return make();
  };
  const at::Tensor expected = make_at(1);
  for (const int threads : {2, 4})
    EXPECT_TRUE(make_at(threads).equal(expected)) << threads << " threads";
}

}  // namespace sotta::testing
