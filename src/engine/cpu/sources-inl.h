// The kinds of Source as functors: begin(channel), then a call for every
// offset.
#if defined(SOTTA_ENGINE_SOURCES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_SOURCES_INL_H_
#undef SOTTA_ENGINE_SOURCES_INL_H_
#else
#define SOTTA_ENGINE_SOURCES_INL_H_
#endif

#include "engine/cpu/fused_ops.h"
#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

struct RawSource {
  explicit RawSource(const Source& source) : values(source.values) {}
  HWY_INLINE void begin(int64_t) {}
  HWY_INLINE Vec operator()(int64_t offset) const {
    return load(values + offset);
  }

  const float* values;
};

struct NormReluSource {
  explicit NormReluSource(const Source& source) : of(source) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(of.scale + channel);
    shift = load(of.shift + channel);
  }
  HWY_INLINE Vec operator()(int64_t offset) const {
    return relu(hn::MulAdd(load(of.values + offset), scale, shift));
  }

  Source of;
  Vec scale = zero(), shift = zero();
};

struct NormBackwardSource {
  explicit NormBackwardSource(const Source& source) : of(source) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(of.scale + channel);
    slope = load(of.slope + channel);
    shift = load(of.shift + channel);
  }
  HWY_INLINE Vec operator()(int64_t offset) const {
    return hn::MulAdd(load(of.values + offset), scale,
                      hn::MulAdd(load(of.raw + offset), slope, shift));
  }

  Source of;
  Vec scale = zero(), slope = zero(), shift = zero();
};

// Calls work(functor) with the functor of the source's kind.
template <class Work>
HWY_INLINE void with_source(const Source& source, const Work& work) {
  switch (source.kind) {
    case Source::Kind::kRaw:
      return work(RawSource(source));
    case Source::Kind::kNormRelu:
      return work(NormReluSource(source));
    case Source::Kind::kNormBackward:
      return work(NormBackwardSource(source));
  }
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
