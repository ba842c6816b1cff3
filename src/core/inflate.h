#pragma once

#include <cstddef>
#include <string>

namespace sotta {

enum class DeflateFormat {
  kRaw,   // bare deflate, as inside zip archives
  kGzip,  // one or more gzip members, as in .gz files
  kZlib,  // zlib's frame, which HTTP calls deflate
};

// Compressed bytes and what to call them in messages.
struct Deflated {
  DeflateFormat format;
  const std::byte* data;
  size_t size;
  const std::string& subject;
};

// Whether a file begins as .gz files do.
constexpr bool is_gzip(const std::byte* data, size_t size) {
  return size >= 2 && data[0] == std::byte{0x1f} && data[1] == std::byte{0x8b};
}

// The most bytes that `compressed` bytes of deflate can stand for. A header
// that claims more is false, and nothing needs to be allocated to know it.
constexpr size_t most_inflated_bytes(size_t compressed) {
  constexpr size_t kLargestRatio = 1032;
  return compressed > static_cast<size_t>(-1) / kLargestRatio
             ? static_cast<size_t>(-1)
             : compressed * kLargestRatio;
}

// Inflates the whole input into exactly `size` bytes. Throws Error(kBadFormat)
// if the input is damaged, gives fewer bytes, or would give more: it stops at
// the first byte too many, whatever the rest would unpack to. All functions
// throw Error(kUnsupported) in a build without zlib.
void inflate_exactly(const Deflated& input, std::byte* out, size_t size);

// Inflates at most `size` bytes from the beginning, for a look at a header.
// Returns how many there were.
size_t inflate_beginning(const Deflated& input, std::byte* out, size_t size);

// The same for input whose size nobody knows: memory grows with what there is.
// Fewer than `most` bytes are all of it, and its checksum was right.
std::string inflate_at_most(const Deflated& input, size_t most);

}  // namespace sotta
