// The kinds of Sink as functors: begin(channel), calls for at most
// kOutputsPerSum values, end(channel), which adds the sums since begin().
#if defined(SOTTA_ENGINE_SINKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_SINKS_INL_H_
#undef SOTTA_ENGINE_SINKS_INL_H_
#else
#define SOTTA_ENGINE_SINKS_INL_H_
#endif

#include "engine/cpu/fused_ops.h"
#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Sums are kept in float for at most so many outputs.
constexpr int64_t kOutputsPerSum = 512;

template <bool kAdd>
struct StoreSink {
  explicit StoreSink(const Sink& sink) : of(sink) {}
  HWY_INLINE void begin(int64_t) {}
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    if (kAdd) value = hn::Add(value, load(of.other + offset));
    store(value, of.out + offset, of.far);
  }
  HWY_INLINE void end(int64_t) {}

  Sink of;
};

struct StatisticsSink {
  explicit StatisticsSink(const Sink& sink) : of(sink) {}
  HWY_INLINE void begin(int64_t channel) {
    centre = load(of.centre + channel);
    sum = squares = zero();
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    store(value, of.out + offset, of.far);
    const Vec distance = hn::Sub(value, centre);
    sum = hn::Add(sum, distance);
    squares = hn::MulAdd(distance, distance, squares);
  }
  HWY_INLINE void end(int64_t channel) {
    add_to(sum, of.sums + channel);
    add_to(squares, of.sums + of.channels + channel);
  }

  Sink of;
  Vec centre = zero(), sum = zero(), squares = zero();
};

struct NormReluSink {
  explicit NormReluSink(const Sink& sink) : of(sink) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(of.scale + channel);
    shift = load(of.shift + channel);
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    store(relu(hn::MulAdd(value, scale, shift)), of.out + offset, of.far);
  }
  HWY_INLINE void end(int64_t) {}

  Sink of;
  Vec scale = zero(), shift = zero();
};

struct NormAddReluSink {
  explicit NormAddReluSink(const Sink& sink) : of(sink) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(of.scale + channel);
    shift = load(of.shift + channel);
    other_scale = of.other_scale ? load(of.other_scale + channel) : all(1);
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    const Vec other = hn::MulAdd(load(of.other + offset), other_scale, shift);
    store(relu(hn::MulAdd(value, scale, other)), of.out + offset, of.far);
  }
  HWY_INLINE void end(int64_t) {}

  Sink of;
  Vec scale = zero(), shift = zero(), other_scale = zero();
};

template <bool kAdd>
struct ReluGradientSink {
  explicit ReluGradientSink(const Sink& sink) : of(sink) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(of.scale + channel);
    shift = load(of.shift + channel);
    centre = load(of.centre + channel);
    sum = product = zero();
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    const Vec raw = load(of.raw + offset);
    // The same operations as in the forward pass, so the same sign.
    const auto active = hn::Gt(hn::MulAdd(raw, scale, shift), zero());
    if (kAdd) value = hn::Add(value, load(of.other + offset));
    const Vec kept = hn::IfThenElseZero(active, value);
    if (of.out) store(kept, of.out + offset, of.far);
    sum = hn::Add(sum, kept);
    product = hn::MulAdd(kept, hn::Sub(raw, centre), product);
  }
  HWY_INLINE void end(int64_t channel) {
    add_to(sum, of.sums + channel);
    add_to(product, of.sums + of.channels + channel);
  }

  Sink of;
  Vec scale = zero(), shift = zero(), centre = zero();
  Vec sum = zero(), product = zero();
};

template <bool kAdd, bool kSecond>
struct BlockGradientSink {
  explicit BlockGradientSink(const Sink& sink) : of(sink) {}
  HWY_INLINE void begin(int64_t channel) {
    centre = load(of.centre + channel);
    if (kSecond) centre2 = load(of.centre2 + channel);
    sum = product = product2 = zero();
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    const auto active = hn::LoadMaskBits(Tag(), of.bits + bits_at(offset));
    if (kAdd) value = hn::Add(value, load(of.other + offset));
    const Vec kept = hn::IfThenElseZero(active, value);
    store(kept, of.out + offset, of.far);
    sum = hn::Add(sum, kept);
    product = hn::MulAdd(kept, hn::Sub(load(of.raw + offset), centre), product);
    if (kSecond)
      product2 =
          hn::MulAdd(kept, hn::Sub(load(of.raw2 + offset), centre2), product2);
  }
  HWY_INLINE void end(int64_t channel) {
    add_to(sum, of.sums + channel);
    add_to(product, of.sums + of.channels + channel);
    if (kSecond) add_to(product2, of.sums + 2 * of.channels + channel);
  }

  Sink of;
  Vec centre = zero(), centre2 = zero();
  Vec sum = zero(), product = zero(), product2 = zero();
};

// Calls work(functor) with the functor of the sink's kind.
template <class Work>
HWY_INLINE void with_sink(const Sink& sink, const Work& work) {
  const bool adds = sink.other != nullptr, second = sink.raw2 != nullptr;
  switch (sink.kind) {
    case Sink::Kind::kStore:
      return adds ? work(StoreSink<true>(sink)) : work(StoreSink<false>(sink));
    case Sink::Kind::kStatistics:
      return work(StatisticsSink(sink));
    case Sink::Kind::kNormRelu:
      return work(NormReluSink(sink));
    case Sink::Kind::kNormAddRelu:
      return work(NormAddReluSink(sink));
    case Sink::Kind::kReluGradient:
      return adds ? work(ReluGradientSink<true>(sink))
                  : work(ReluGradientSink<false>(sink));
    case Sink::Kind::kBlockGradient:
      if (second)
        return adds ? work(BlockGradientSink<true, true>(sink))
                    : work(BlockGradientSink<false, true>(sink));
      return adds ? work(BlockGradientSink<true, false>(sink))
                  : work(BlockGradientSink<false, false>(sink));
  }
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
