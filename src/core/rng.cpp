#include "sotta/core/rng.h"

#include <cassert>
#include <cmath>

namespace sotta {
namespace {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;

// FNV-1a: names become keys the same way on every platform.
uint64_t hash(std::string_view name) {
  uint64_t value = 0xCBF29CE484222325;
  for (unsigned char byte : name)
    value = (value ^ byte) * 0x100000001B3;
  return value;
}

}  // namespace

uint64_t mix64(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

Rng::Rng(uint64_t seed) : state_{mix64(seed + kGoldenGamma), 0} {}

Rng Rng::child(std::string_view name) const {
  return Rng(State{mix64(state_.key ^ mix64(hash(name))), 0});
}

Rng Rng::child(uint64_t index) const {
  return Rng(State{mix64(state_.key + mix64(index + kGoldenGamma)), 0});
}

uint64_t Rng::next() {
  return mix64(state_.key + ++state_.counter * kGoldenGamma);
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Rng::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

int64_t Rng::below(int64_t count) {
  assert(count > 0);
  const auto range = static_cast<uint64_t>(count);
  // Words above the largest multiple of the range would favour small results.
  const uint64_t limit = ~uint64_t{0} - (~uint64_t{0} % range + 1) % range;
  uint64_t word = next();
  while (word > limit)
    word = next();
  return static_cast<int64_t>(word % range);
}

double Rng::normal() {
  // Box and Muller; the second of the pair is dropped so that the state stays
  // a key and a counter.
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

}  // namespace sotta
