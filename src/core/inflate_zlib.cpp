#include <algorithm>
#include <limits>

#include <zlib.h>

#include "sotta/core/error.h"

#include "core/inflate.h"

namespace sotta {
namespace {

// zlib counts in 32 bits; larger buffers are handed over in pieces.
uInt piece_of(size_t size) {
  return static_cast<uInt>(
      std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

// How zlib is told what to expect: as a number.
int window_bits(DeflateFormat format) {
  constexpr int kLargestWindow = 15;
  constexpr int kExpectGzip = 16;
  switch (format) {
    case DeflateFormat::kRaw:
      return -kLargestWindow;
    case DeflateFormat::kGzip:
      return kLargestWindow + kExpectGzip;
    case DeflateFormat::kZlib:
      return kLargestWindow;
  }
  return kLargestWindow;
}

class Inflater {
 public:
  explicit Inflater(const Deflated& input) : input_(input), left_(input.size) {
    if (inflateInit2(&stream_, window_bits(input.format)) != Z_OK)
      fail(ErrorKind::kIo, input.subject, "zlib found no memory to unpack it");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` or reaches the end of the input; returns the bytes written.
  size_t read(std::byte* out, size_t size) {
    size_t written = 0;
    while (written < size && !ended_) {
      const uInt piece = piece_of(size - written);
      written += step(out + written, piece);
    }
    return written;
  }

 private:
  size_t step(std::byte* out, uInt size) {
    // zlib's input pointer is not const, but it does not write there.
    stream_.next_in = reinterpret_cast<Bytef*>(
        const_cast<std::byte*>(input_.data + (input_.size - left_)));
    const uInt offered = piece_of(left_);
    stream_.avail_in = offered;
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = size;
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    left_ -= offered - stream_.avail_in;
    if (status == Z_STREAM_END)
      finish_member();
    else if (status == Z_BUF_ERROR && left_ == 0)
      fail_damaged("ends too early");
    else if (status != Z_OK)
      fail_damaged("is damaged");
    return size - stream_.avail_out;
  }

  void finish_member() {
    if (left_ == 0)
      ended_ = true;
    else if (input_.format == DeflateFormat::kGzip)
      inflateReset(&stream_);  // a .gz file may hold several, one after another
    else
      fail_damaged("goes on after its end");
  }

  [[noreturn]] void fail_damaged(const std::string& problem) const {
    fail(ErrorKind::kBadFormat, input_.subject,
         "the compressed data " + problem + " (" +
             std::to_string(input_.size - left_) + " of " +
             std::to_string(input_.size) + " bytes are good)");
  }

  const Deflated& input_;
  size_t left_;
  bool ended_ = false;
  z_stream stream_ = {};
};

}  // namespace

void inflate_exactly(const Deflated& input, std::byte* out, size_t size) {
  Inflater inflater(input);
  const size_t written = inflater.read(out, size);
  // Reading on verifies the checksum, which comes after the last byte.
  std::byte one_more{};
  const bool too_many = written == size && inflater.read(&one_more, 1) > 0;
  if (written < size || too_many)
    fail(ErrorKind::kBadFormat, input.subject,
         "expected " + std::to_string(size) + " bytes after unpacking, got " +
             (too_many ? "more" : std::to_string(written)));
}

size_t inflate_beginning(const Deflated& input, std::byte* out, size_t size) {
  return Inflater(input).read(out, size);
}

std::string inflate_at_most(const Deflated& input, size_t most) {
  Inflater inflater(input);
  std::string bytes;
  size_t written = 0;
  while (written == bytes.size() && written < most) {
    const size_t guess = std::max(2 * bytes.size(), 4 * input.size + 1);
    bytes.resize(std::min(guess, most));
    written += inflater.read(reinterpret_cast<std::byte*>(&bytes[written]),
                             bytes.size() - written);
  }
  bytes.resize(written);
  return bytes;
}

}  // namespace sotta
