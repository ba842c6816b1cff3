#include "data/formats/sha1.h"

#include <algorithm>
#include <cstring>

namespace sotta {
namespace {

uint32_t rotate(uint32_t word, int bits) {
  return word << bits | word >> (32 - bits);
}

struct Round {
  uint32_t mixed;
  uint32_t constant;
};

Round round_at(int step, uint32_t b, uint32_t c, uint32_t d) {
  if (step < 20) return {(b & c) | (~b & d), 0x5A827999};
  if (step < 40) return {b ^ c ^ d, 0x6ED9EBA1};
  if (step < 60) return {(b & c) | (b & d) | (c & d), 0x8F1BBCDC};
  return {b ^ c ^ d, 0xCA62C1D6};
}

}  // namespace

void Sha1::absorb(const unsigned char* block) {
  std::array<uint32_t, 80> words;
  for (size_t i = 0; i < 16; ++i)
    words[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
               uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
  for (size_t i = 16; i < 80; ++i)
    words[i] =
        rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  auto [a, b, c, d, e] = state_;
  for (int step = 0; step < 80; ++step) {
    const auto [mixed, constant] = round_at(step, b, c, d);
    const uint32_t next =
        rotate(a, 5) + mixed + e + constant + words[static_cast<size_t>(step)];
    e = d;
    d = c;
    c = rotate(b, 30);
    b = a;
    a = next;
  }
  state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d,
            state_[4] + e};
}

void Sha1::update(const void* data, size_t size) {
  const auto* next = static_cast<const unsigned char*>(data);
  while (size > 0) {
    const size_t filled = bytes_ % waiting_.size();
    const size_t taken = std::min(size, waiting_.size() - filled);
    std::memcpy(waiting_.data() + filled, next, taken);
    bytes_ += taken;
    next += taken;
    size -= taken;
    if (filled + taken == waiting_.size()) absorb(waiting_.data());
  }
}

std::string Sha1::finish() {
  const uint64_t bits = bytes_ * 8;
  const unsigned char one = 0x80, zero = 0;
  update(&one, 1);
  while (bytes_ % waiting_.size() != 56)
    update(&zero, 1);
  for (int shift = 56; shift >= 0; shift -= 8) {
    const auto byte = static_cast<unsigned char>(bits >> shift);
    update(&byte, 1);
  }
  std::string text;
  for (const uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

}  // namespace sotta
