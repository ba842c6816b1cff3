// The kinds of Prologue as functors: begin(channel) loads the vectors of
// channels channel .. + kLanes, then a call for every offset gives the value
// there. The formulas are in prologue_epilogue.h.
#if defined(SOTTA_ENGINE_PROLOGUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_PROLOGUES_INL_H_
#undef SOTTA_ENGINE_PROLOGUES_INL_H_
#else
#define SOTTA_ENGINE_PROLOGUES_INL_H_
#endif

#include "engine/cpu/prologue_epilogue.h"
#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

struct IdentityPrologue {
  explicit IdentityPrologue(const Prologue& prologue)
      : values(prologue.values) {}
  HWY_INLINE void begin(int64_t) {}
  HWY_INLINE Vec operator()(int64_t offset) const {
    return load(values + offset);
  }

  const float* values;
};

struct NormReluPrologue {
  explicit NormReluPrologue(const Prologue& prologue) : args(prologue) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(args.scale + channel);
    shift = load(args.shift + channel);
  }
  HWY_INLINE Vec operator()(int64_t offset) const {
    return relu(hn::MulAdd(load(args.values + offset), scale, shift));
  }

  Prologue args;
  Vec scale = zero(), shift = zero();
};

struct NormBackwardPrologue {
  explicit NormBackwardPrologue(const Prologue& prologue) : args(prologue) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(args.scale + channel);
    slope = load(args.slope + channel);
    shift = load(args.shift + channel);
  }
  HWY_INLINE Vec operator()(int64_t offset) const {
    return hn::MulAdd(load(args.values + offset), scale,
                      hn::MulAdd(load(args.pre_norm + offset), slope, shift));
  }

  Prologue args;
  Vec scale = zero(), slope = zero(), shift = zero();
};

// Calls work(functor) with the functor of the prologue's kind.
template <class Work>
HWY_INLINE void with_prologue(const Prologue& prologue, const Work& work) {
  switch (prologue.kind) {
    case Prologue::Kind::kIdentity:
      return work(IdentityPrologue(prologue));
    case Prologue::Kind::kNormRelu:
      return work(NormReluPrologue(prologue));
    case Prologue::Kind::kNormBackward:
      return work(NormBackwardPrologue(prologue));
  }
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
