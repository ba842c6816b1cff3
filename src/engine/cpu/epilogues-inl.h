// The kinds of Epilogue as functors that a kernel calls for vectors of
// channels:
//
//   begin(channel)       loads the vectors of channels channel .. + kLanes; of
//                        lanes (Epilogue::images_per_lane) with the offset of
//                        the lane's vectors added
//   operator()(offset, value)   for at most kOutputsPerSum pixels: stores at
//                        out + offset, adds to float sums in registers
//   end(channel)         adds these sums to the double sums in memory
//
// Every kernel calls in the same order of pixels on every target, so that sums
// have the same bits. The formulas are in prologue_epilogue.h.
#if defined(SOTTA_ENGINE_EPILOGUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_EPILOGUES_INL_H_
#undef SOTTA_ENGINE_EPILOGUES_INL_H_
#else
#define SOTTA_ENGINE_EPILOGUES_INL_H_
#endif

#include "engine/cpu/prologue_epilogue.h"
#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Sums stay in float for at most so many pixels, to bound their rounding error.
constexpr int64_t kOutputsPerSum = 512;

// kAdd: there is an addend.
template <bool kAdd>
struct StoreEpilogue {
  explicit StoreEpilogue(const Epilogue& epilogue) : args(epilogue) {}
  HWY_INLINE void begin(int64_t) {}
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    if (kAdd) value = hn::Add(value, load(args.addend + offset));
    store(value, args.out + offset, args.streaming);
  }
  HWY_INLINE void end(int64_t) {}

  Epilogue args;
};

// Sums about a centre near the mean: with sums of v and v^2 themselves, the
// variance of a channel whose mean is large would cancel.
template <bool kAdd>
struct StatisticsEpilogue {
  explicit StatisticsEpilogue(const Epilogue& epilogue) : args(epilogue) {}
  HWY_INLINE void begin(int64_t channel) {
    centre = load(args.centre + channel);
    sum = squares = zero();
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    if (kAdd) value = hn::Add(value, load(args.addend + offset));
    store(value, args.out + offset, args.streaming);
    const Vec distance = hn::Sub(value, centre);
    sum = hn::Add(sum, distance);
    squares = hn::MulAdd(distance, distance, squares);
  }
  HWY_INLINE void end(int64_t channel) {
    add_to(sum, args.sums + channel);
    add_to(squares, args.sums + args.channels + channel);
  }

  Epilogue args;
  Vec centre = zero(), sum = zero(), squares = zero();
};

struct NormReluEpilogue {
  explicit NormReluEpilogue(const Epilogue& epilogue) : args(epilogue) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(args.scale + channel);
    shift = load(args.shift + channel);
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    store(relu(hn::MulAdd(value, scale, shift)), args.out + offset,
          args.streaming);
  }
  HWY_INLINE void end(int64_t) {}

  Epilogue args;
  Vec scale = zero(), shift = zero();
};

struct NormAddReluEpilogue {
  explicit NormAddReluEpilogue(const Epilogue& epilogue) : args(epilogue) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(args.scale + channel);
    shift = load(args.shift + channel);
    addend_scale =
        args.addend_scale ? load(args.addend_scale + channel) : broadcast(1);
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    const Vec rest =
        hn::MulAdd(load(args.addend + offset), addend_scale, shift);
    store(relu(hn::MulAdd(value, scale, rest)), args.out + offset,
          args.streaming);
  }
  HWY_INLINE void end(int64_t) {}

  Epilogue args;
  Vec scale = zero(), shift = zero(), addend_scale = zero();
};

template <bool kAdd>
struct ReluGradientEpilogue {
  explicit ReluGradientEpilogue(const Epilogue& epilogue) : args(epilogue) {}
  HWY_INLINE void begin(int64_t channel) {
    scale = load(args.scale + channel);
    shift = load(args.shift + channel);
    centre = load(args.centre + channel);
    sum = product = zero();
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    const Vec pre_norm = load(args.pre_norm + offset);
    // The same operations as NormReluPrologue's in the forward pass, hence the
    // same sign: no mask has to be stored.
    const auto active = hn::Gt(hn::MulAdd(pre_norm, scale, shift), zero());
    if (kAdd) value = hn::Add(value, load(args.addend + offset));
    const Vec kept = hn::IfThenElseZero(active, value);
    if (args.out) store(kept, args.out + offset, args.streaming);
    sum = hn::Add(sum, kept);
    product = hn::MulAdd(kept, hn::Sub(pre_norm, centre), product);
  }
  HWY_INLINE void end(int64_t channel) {
    add_to(sum, args.sums + channel);
    add_to(product, args.sums + args.channels + channel);
  }

  Epilogue args;
  Vec scale = zero(), shift = zero(), centre = zero();
  Vec sum = zero(), product = zero();
};

// At the end of a residual block the sign depends on two activations, of which
// the forward pass stored a mask. kSecond: a shortcut's norm layer takes the
// same gradient.
template <bool kAdd, bool kSecond>
struct BlockGradientEpilogue {
  explicit BlockGradientEpilogue(const Epilogue& epilogue) : args(epilogue) {}
  HWY_INLINE void begin(int64_t channel) {
    centre = load(args.centre + channel);
    if (kSecond) centre2 = load(args.centre2 + channel);
    sum = product = product2 = zero();
  }
  HWY_INLINE void operator()(int64_t offset, Vec value) {
    const auto active =
        hn::LoadMaskBits(Tag(), args.relu_mask + mask_offset(offset));
    if (kAdd) value = hn::Add(value, load(args.addend + offset));
    const Vec kept = hn::IfThenElseZero(active, value);
    store(kept, args.out + offset, args.streaming);
    sum = hn::Add(sum, kept);
    product = hn::MulAdd(kept, hn::Sub(load(args.pre_norm + offset), centre),
                         product);
    if (kSecond)
      product2 = hn::MulAdd(
          kept, hn::Sub(load(args.pre_norm2 + offset), centre2), product2);
  }
  HWY_INLINE void end(int64_t channel) {
    add_to(sum, args.sums + channel);
    add_to(product, args.sums + args.channels + channel);
    if (kSecond) add_to(product2, args.sums + 2 * args.channels + channel);
  }

  Epilogue args;
  Vec centre = zero(), centre2 = zero();
  Vec sum = zero(), product = zero(), product2 = zero();
};

// Calls work(functor) with the functor of the epilogue's kind.
template <class Work>
HWY_INLINE void with_epilogue(const Epilogue& epilogue, const Work& work) {
  const bool adds = epilogue.addend != nullptr,
             second = epilogue.pre_norm2 != nullptr;
  switch (epilogue.kind) {
    case Epilogue::Kind::kStore:
      return adds ? work(StoreEpilogue<true>(epilogue))
                  : work(StoreEpilogue<false>(epilogue));
    case Epilogue::Kind::kStatistics:
      return adds ? work(StatisticsEpilogue<true>(epilogue))
                  : work(StatisticsEpilogue<false>(epilogue));
    case Epilogue::Kind::kNormRelu:
      return work(NormReluEpilogue(epilogue));
    case Epilogue::Kind::kNormAddRelu:
      return work(NormAddReluEpilogue(epilogue));
    case Epilogue::Kind::kReluGradient:
      return adds ? work(ReluGradientEpilogue<true>(epilogue))
                  : work(ReluGradientEpilogue<false>(epilogue));
    case Epilogue::Kind::kBlockGradient:
      if (second)
        return adds ? work(BlockGradientEpilogue<true, true>(epilogue))
                    : work(BlockGradientEpilogue<false, true>(epilogue));
      return adds ? work(BlockGradientEpilogue<true, false>(epilogue))
                  : work(BlockGradientEpilogue<false, false>(epilogue));
  }
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
