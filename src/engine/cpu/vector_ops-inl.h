// Vectors of the target that is being compiled; included once for each.
#if defined(SOTTA_ENGINE_VECTOR_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_VECTOR_OPS_INL_H_
#undef SOTTA_ENGINE_VECTOR_OPS_INL_H_
#else
#define SOTTA_ENGINE_VECTOR_OPS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "engine/cpu/fused_ops.h"
#include "engine/cpu/planes.h"

#ifndef SOTTA_UNROLL
// Small loops over arrays of vectors, at most ten: only unrolled do these stay
// in registers.
#ifdef __clang__
#define SOTTA_UNROLL _Pragma("unroll")
#else
#define SOTTA_UNROLL _Pragma("GCC unroll 10")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kBlock>;
using Vec = hn::Vec<Tag>;

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
constexpr int64_t kVectorsPerBlock = kBlock / kLanes;

HWY_INLINE Vec load(const float* from) {
  return hn::Load(Tag(), from);
}

HWY_INLINE Vec zero() {
  return hn::Zero(Tag());
}

HWY_INLINE Vec all(float value) {
  return hn::Set(Tag(), value);
}

HWY_INLINE Vec exactly(double value) {
  return all(static_cast<float>(value));
}

// max(value, 0), and NaN for NaN: guards look for it. Of two operands of which
// one is NaN x86 takes the second, ARM the number.
HWY_INLINE Vec relu(Vec value) {
#if HWY_ARCH_X86
  return hn::Max(zero(), value);
#else
  return hn::IfThenZeroElse(hn::Lt(value, zero()), value);
#endif
}

HWY_INLINE void store(Vec value, float* to) {
  hn::Store(value, Tag(), to);
}

// What is `far` is not read again before it would have left the caches: whole
// cache lines of it go straight to memory, which need not be read before.
HWY_INLINE void store(Vec value, float* to, bool far) {
  if (far && kVectorsPerBlock == 1)
    hn::Stream(value, Tag(), to);
  else
    store(value, to);
}

// to[lane] += value[lane]
HWY_INLINE void add_to(Vec value, double* to) {
  HWY_ALIGN float lanes[kLanes];
  store(value, lanes);
  for (int64_t i = 0; i < kLanes; ++i)
    to[i] += static_cast<double>(lanes[i]);
}

// Where the bits of the vector at `offset` lie.
HWY_INLINE int64_t bits_at(int64_t offset) {
  return offset / kBlock * kBitBytes +
         offset % kBlock / kLanes * (kLanes >= 8 ? kLanes / 8 : 1);
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
