// Vectors of the target that is being compiled. Highway includes the kernels'
// sources once for each target (HWY_TARGET_INCLUDE); HWY_NAMESPACE keeps the
// copies apart, and HWY_DYNAMIC_DISPATCH chooses among them when they are
// called. A vector holds kLanes neighbouring channels of one pixel: 16 with
// AVX-512, 8 with AVX2, 4 with NEON.
#if defined(SOTTA_ENGINE_VECTOR_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_VECTOR_OPS_INL_H_
#undef SOTTA_ENGINE_VECTOR_OPS_INL_H_
#else
#define SOTTA_ENGINE_VECTOR_OPS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/bfloat16.h"
#include "engine/cpu/prologue_epilogue.h"

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

using Tag = hn::CappedTag<float, kChannelBlock>;
using Vec = hn::Vec<Tag>;

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
constexpr int64_t kVectorsPerBlock = kChannelBlock / kLanes;

HWY_INLINE Vec load(const float* from) {
  return hn::Load(Tag(), from);
}

HWY_INLINE Vec zero() {
  return hn::Zero(Tag());
}

HWY_INLINE Vec broadcast(float value) {
  return hn::Set(Tag(), value);
}

// Rounded to float.
HWY_INLINE Vec constant(double value) {
  return broadcast(static_cast<float>(value));
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

// Rounded to bfloat16, to the nearest, of two the even one: the upper halves of
// the lanes; the lower ones are left over. Infinity stays what it is, and NaN
// becomes one whose bits are in the upper half.
using BitsTag = hn::RebindToUnsigned<Tag>;
HWY_INLINE hn::Vec<BitsTag> round_to_bfloat16(Vec value) {
  const BitsTag d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFF)));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(value)),
                        hn::Set(d, 0x7FC00000), rounded);
}

HWY_INLINE void store(Vec value, Bfloat16* to) {
  const hn::Rebind<uint16_t, Tag> narrow;
  const hn::RebindToSigned<Tag> d;
  const auto upper =
      hn::BitCast(d, hn::ShiftRight<16>(round_to_bfloat16(value)));
  hn::Store(hn::DemoteTo(narrow, upper), narrow, &to->bits);
}

// With `streaming` a non-temporal store, for what has left the caches before it
// is read again: whole cache lines go straight to memory and are not read from
// there first. Vectors that are not a whole line are stored as usual.
HWY_INLINE void store(Vec value, float* to, bool streaming) {
  if (streaming && kVectorsPerBlock == 1)
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

// The byte of a ReLU's mask at which the bits of the vector at `offset` lie.
HWY_INLINE int64_t mask_offset(int64_t offset) {
  return offset / kChannelBlock * kMaskBytes +
         offset % kChannelBlock / kLanes * (kLanes >= 8 ? kLanes / 8 : 1);
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
