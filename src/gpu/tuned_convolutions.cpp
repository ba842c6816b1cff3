#include "gpu/tuned_convolutions.h"

#include <ATen/Context.h>

namespace sotta {
namespace {

// The library lists its best guesses first.
constexpr int kTries = 4;

}  // namespace

TunedConvolutions::TunedConvolutions()
    : before_(at::globalContext().benchmarkCuDNN()),
      limit_before_(at::globalContext().benchmarkLimitCuDNN()) {
  at::globalContext().setBenchmarkCuDNN(true);
  at::globalContext().setBenchmarkLimitCuDNN(kTries);
}

TunedConvolutions::~TunedConvolutions() {
  at::globalContext().setBenchmarkLimitCuDNN(limit_before_);
  at::globalContext().setBenchmarkCuDNN(before_);
}

}  // namespace sotta
