#include "serve/protocol/inflate_body.h"

#include "sotta/core/error.h"

#include "core/inflate.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

bool is_plain(const std::string& encoding) {
  return encoding.empty() || encoding == "identity";
}

std::string unpack(const Deflated& input, size_t most) {
  try {
    return inflate_at_most(input, most);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported)
      throw RequestError(HttpStatus::kUnsupportedMedia, first_line(error));
    throw RequestError(HttpStatus::kBadRequest, first_line(error));
  }
}

}  // namespace

void check_encoding(const std::string& encoding, bool may_be_compressed) {
  if (is_plain(encoding)) return;
  const bool known = encoding == "gzip" || encoding == "deflate";
  if (!known || !may_be_compressed)
    throw RequestError(HttpStatus::kUnsupportedMedia, "Content-Encoding",
                       may_be_compressed
                           ? "expected gzip, deflate or none"
                           : "expected none, as only infer takes others");
}

std::string inflate_body(std::string body, const std::string& encoding,
                         int64_t limit) {
  check_encoding(encoding, true);
  if (is_plain(encoding)) return body;
  const std::string subject = "request";
  const Deflated input{
      encoding == "gzip" ? DeflateFormat::kGzip : DeflateFormat::kZlib,
      reinterpret_cast<const std::byte*>(body.data()), body.size(), subject};
  std::string plain = unpack(input, static_cast<size_t>(limit) + 1);
  if (static_cast<int64_t>(plain.size()) > limit)
    throw RequestError(
        HttpStatus::kTooLarge, subject,
        "expected at most " + std::to_string(limit) + " bytes after unpacking");
  plain.shrink_to_fit();
  return plain;
}

}  // namespace sotta
