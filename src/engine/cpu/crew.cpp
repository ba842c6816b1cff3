#include "engine/cpu/crew.h"

#include <algorithm>

namespace sotta::engine {

namespace {

// Results beyond this have left the caches when they are read.
constexpr int64_t kFar = 1 << 20;  // numbers: 4 MB

template <class Number>
void enlarge(Buffer<Number>& buffer, int64_t size) {
  if (buffer.size() < size) buffer = Buffer<Number>(size);
}

}  // namespace

void SumSlots::reserve(int64_t slots, int64_t channels) {
  enlarge(slots_, slots * kSumRows * channels);
  enlarge(totals_, kSumRows * channels);
}

double* SumSlots::clear(int64_t slot, int64_t channels) {
  double* memory = slots_.data() + slot * kSumRows * channels;
  std::fill_n(memory, kSumRows * channels, 0.0);
  return memory;
}

void SumSlots::total(int64_t slots, int64_t channels) {
  const int64_t size = kSumRows * channels;
  std::fill_n(totals_.data(), size, 0.0);
  for (int64_t slot = 0; slot < slots; ++slot)
    for (int64_t i = 0; i < size; ++i)
      totals_.data()[i] += slots_.data()[slot * size + i];
}

Sink with_slot(Sink sink, SumSlots* sums, int64_t slot, const Planes& planes) {
  sink.far = planes.size() >= kFar;
  sink.channels = planes.channels;
  if (sums) sink.sums = sums->clear(slot, planes.channels);
  return sink;
}

void ensure(FloatBuffer& buffer, int64_t size) {
  enlarge(buffer, size);
}

}  // namespace sotta::engine
