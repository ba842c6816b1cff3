#include "engine/cpu/partial_sums.h"

#include <algorithm>

namespace sotta::engine {

namespace {

// Activations beyond this have left the caches when they are read.
constexpr int64_t kCachedActivations = 1 << 20;  // numbers: 4 MB

}  // namespace

void PartialSums::reserve(int64_t slots, int64_t channels) {
  ensure_size(slots_, slots * kSumRows * channels);
  ensure_size(totals_, kSumRows * channels);
}

double* PartialSums::clear(int64_t slot, int64_t channels) {
  double* memory = slots_.data() + slot * kSumRows * channels;
  std::fill_n(memory, kSumRows * channels, 0.0);
  return memory;
}

void PartialSums::total(int64_t slots, int64_t channels) {
  const int64_t size = kSumRows * channels;
  std::fill_n(totals_.data(), size, 0.0);
  for (int64_t slot = 0; slot < slots; ++slot)
    for (int64_t i = 0; i < size; ++i)
      totals_.data()[i] += slots_.data()[slot * size + i];
}

Epilogue task_epilogue(Epilogue epilogue, PartialSums* sums, int64_t task,
                       const ActivationShape& shape) {
  epilogue.streaming = shape.size() >= kCachedActivations;
  epilogue.channels = shape.channels;
  if (sums) epilogue.sums = sums->clear(task, shape.channels);
  return epilogue;
}

}  // namespace sotta::engine
