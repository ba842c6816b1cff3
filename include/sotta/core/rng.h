#pragma once

#include <cstdint>
#include <string_view>

namespace sotta {

// A seeded stream of random numbers that is a pure function of its key and a
// counter. Streams are derived by name or index, never shared between threads:
// the same seed gives the same numbers at any thread count and on any machine.
//
// The state is two integers, so a stream can be saved and continued exactly.
class Rng {
 public:
  struct State {
    uint64_t key;
    uint64_t counter;
  };

  explicit Rng(uint64_t seed);
  explicit Rng(State state) : state_(state) {}

  // An independent stream. Depends on this stream's key only, not on how many
  // numbers were drawn from it.
  Rng child(std::string_view name) const;
  Rng child(uint64_t index) const;

  uint64_t next();                          // 64 random bits
  double uniform();                         // in [0, 1), 53 bits
  double uniform(double low, double high);  // in [low, high)
  int64_t below(int64_t count);             // in 0 .. count-1, unbiased
  double normal();                          // mean 0, standard deviation 1

  // Passes over `count` words. next() and uniform() take one word each,
  // normal() two, below() one or, rarely, more.
  void skip(uint64_t count) { state_.counter += count; }

  State state() const { return state_; }

 private:
  State state_;
};

// The finaliser of splitmix64: a bijection of 64-bit words that behaves like a
// random function. Tensor code that draws by element index uses it directly.
uint64_t mix64(uint64_t word);

}  // namespace sotta
