#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// Throws RequestError(kUnsupportedMedia) unless a body may come in this
// Content-Encoding: none or identity; gzip or deflate, if it may be compressed.
void check_encoding(const std::string& encoding, bool may_be_compressed);

// The body as it was before its client compressed it. Throws RequestError:
// kTooLarge beyond `limit` bytes, of which no more are unpacked than one;
// kBadRequest if it is damaged; and as check_encoding() does.
std::string inflate_body(std::string body, const std::string& encoding,
                         int64_t limit);

}  // namespace sotta
